// crew_checkpoint_test.cpp — saving, failing to save, and coming back from nothing but a file.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("crew: an interrupted run that resumes from its checkpoint equals an undisturbed one",
          "[live]") {
    CrewRig calm;
    calm.spawn(ids({0, 1}));
    calm.enter(ids({0, 1}), plan_of(1));
    calm.train_to(20);
    const std::uint64_t expected = calm.enter(ids({0, 1}), plan_of(2)).digest;

    CrewRig rig;
    rig.spawn(ids({0, 1, 2, 3}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(12);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    CHECK(saved.step == 12);
    CHECK(saved.position == 12 * 8);
    CHECK(saved.bytes == static_cast<std::int64_t>(std::filesystem::file_size(saved.file)));
    rig.train_to(17);
    for (const std::uint32_t id : {0U, 1U}) rig.crew.kill(InstanceId{id});
    for (int i = 0; i < 2; ++i) CHECK(rig.expect<runtime::WorkerDied>().expected);
    rig.may_go_back = true;
    CHECK(rig.enter(ids({2, 3}), plan_of(1), saved.file).step == 12);
    rig.train_to(20);
    CHECK(rig.enter(ids({2, 3}), plan_of(2)).digest == expected);
}

TEST_CASE("crew: the last two checkpoints are kept", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0}));
    rig.enter(ids({0}), plan_of(1));
    for (std::int64_t step = 1; step <= 4; ++step) {
        rig.train_to(step);
        rig.crew.save();
        CHECK(rig.expect<runtime::CheckpointSaved>().step == step);
    }
    CHECK(files_in(rig.folder()) == 2);
}

TEST_CASE("crew: a checkpoint that is damaged is none of the two that are kept", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0}));
    rig.enter(ids({0}), plan_of(1));
    const auto save_at = [&](std::int64_t step) {
        rig.train_to(step);
        rig.crew.save();
        return rig.expect<runtime::CheckpointSaved>().file;
    };
    const std::filesystem::path whole = save_at(1);
    const std::filesystem::path damaged = save_at(2);
    rig.crew.forget_checkpoints_after(whole);
    const std::filesystem::path next = save_at(3);
    CHECK(std::filesystem::exists(whole));
    CHECK(std::filesystem::exists(damaged));  // nobody has taken it away
    save_at(4);
    CHECK_FALSE(std::filesystem::exists(whole));
    CHECK(std::filesystem::exists(next));
}

TEST_CASE("crew: a full disk costs a checkpoint and nothing else", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(3);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    rig.crew.inject(InstanceId{0}, runtime::Fault::fill_disk);
    rig.train_to(6);
    rig.crew.save();
    CHECK_FALSE(rig.expect<runtime::CheckpointFailed>().why.empty());
    CHECK(std::filesystem::exists(saved.file));
    CHECK(files_in(rig.folder()) == 1);
    rig.train_to(9);
    CHECK(rig.enter(ids({1}), plan_of(2)).step == 9);
}

TEST_CASE("crew: a writer that dies while saving leaves the older checkpoint", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(3);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    rig.train_to(6);
    ::kill(rig.crew.process_of(InstanceId{0}), SIGSTOP);
    rig.crew.save();
    CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{0});
    CHECK(rig.expect<runtime::CheckpointFailed>().why == "its writer died");
    CHECK(std::filesystem::exists(saved.file));
    CHECK(rig.enter(ids({1}), plan_of(2)).step == 6);
    rig.train_to(8);
    rig.crew.save();
    CHECK(rig.expect<runtime::CheckpointSaved>().step == 8);
}

TEST_CASE("crew: a checkpoint that is damaged or of another job is refused", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.crew.begin_transition(ids({0, 1}), plan_of(1), rig.folder() / "missing");
    CHECK(rig.expect<runtime::TransitionFailed>().why.find("missing") != std::string::npos);
    std::ofstream(rig.folder() / "damaged") << "not a checkpoint";
    rig.crew.begin_transition(ids({0, 1}), plan_of(1), rig.folder() / "damaged");
    CHECK(rig.expect<runtime::TransitionFailed>().why.find("damaged") != std::string::npos);
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(2);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    CrewRig other(small_job(8));
    other.spawn(ids({0}));
    other.crew.begin_transition(ids({0}), plan_of(1), saved.file);
    CHECK(other.expect<runtime::TransitionFailed>().why.find("another job") != std::string::npos);
}

TEST_CASE("crew: a group of newcomers needs the state or a checkpoint", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0}), plan_of(1));
    rig.train_to(5);
    rig.crew.begin_transition(ids({1}), plan_of(2));
    CHECK(rig.expect<runtime::TransitionFailed>().why.find("worker 0 has") != std::string::npos);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    CHECK(rig.enter(ids({1}), plan_of(2), saved.file).step == 5);
    rig.train_to(8);
}

TEST_CASE("crew: what a writer that was killed had begun is swept", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(3);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    rig.crew.inject(InstanceId{0}, runtime::Fault::die_writing);
    rig.train_to(6);
    rig.crew.save();
    CHECK(rig.expect<runtime::WorkerDied>().why == "killed by signal 25");
    CHECK(rig.expect<runtime::CheckpointFailed>().why == "its writer died");
    CHECK(files_in(rig.folder()) == 1);
    CHECK(std::filesystem::exists(saved.file));
}

TEST_CASE("crew: what a run that is gone had begun is swept, and nothing else", "[live]") {
    const pid_t gone = ::fork();
    if (gone == 0) ::_exit(0);
    REQUIRE(::waitpid(gone, nullptr, 0) == gone);
    const ScratchFolder folder;
    const auto put = [&](const std::string& name) {
        std::ofstream(folder.path() / name) << "begun";
        return folder.path() / name;
    };
    const auto left = put(fmt::format("checkpoint-000000000012.ukemi.tmp-{}-0", gone));
    const std::vector others{put("checkpoint-000000000012.ukemi"),
                             put("notes.tmp-1"),
                             put(fmt::format("checkpoint-1.ukemi.tmp-{}-0", ::getpid())),
                             put(fmt::format("mine.ukemi.tmp-{}-0", gone)),
                             put("checkpoint-1.ukemi.tmp-x-0"),
                             put("checkpoint-1.ukemi.tmp-9")};
    const runtime::Crew crew(CrewRig::setup_of(small_job(), short_deadlines(), folder.path()));
    CHECK_FALSE(std::filesystem::exists(left));
    for (const auto& other : others) CHECK(std::filesystem::exists(other));
}

}  // namespace ukemi
