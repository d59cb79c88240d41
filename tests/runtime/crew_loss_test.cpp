// crew_loss_test.cpp — members that die, stop, fall silent or hang; at every place where they can.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

enum class Harm { kill, stop, close_sockets, stop_heartbeats, hang };

void do_harm(CrewRig& rig, InstanceId worker, Harm harm) {
    const int process = rig.crew.process_of(worker);
    REQUIRE(process > 0);
    switch (harm) {
        case Harm::kill: ::kill(process, SIGKILL); break;
        case Harm::stop: ::kill(process, SIGSTOP); break;
        case Harm::close_sockets: rig.crew.inject(worker, runtime::Fault::close_sockets); break;
        case Harm::stop_heartbeats: rig.crew.inject(worker, runtime::Fault::stop_heartbeats); break;
        case Harm::hang: rig.crew.inject(worker, runtime::Fault::hang); break;
    }
}

}  // namespace

TEST_CASE("crew: whatever ends a member in a step, the others go on from the last common step",
          "[live]") {
    const Harm harm =
        GENERATE(Harm::kill, Harm::stop, Harm::close_sockets, Harm::stop_heartbeats, Harm::hang);
    const std::uint32_t victim = GENERATE(0U, 2U);
    CAPTURE(static_cast<int>(harm), victim);
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1, 2}), plan_of(1));
    rig.crew.run();
    rig.look(30ms);
    do_harm(rig, InstanceId{victim}, harm);
    const runtime::WorkerDied died = rig.expect<runtime::WorkerDied>();
    INFO(died.why);
    CHECK(died.worker == InstanceId{victim});
    CHECK(died.was_member);
    CHECK_FALSE(died.expected);
    if (harm == Harm::kill) CHECK(died.why == "killed by signal 9");
    if (harm == Harm::stop) CHECK(died.why.starts_with("no heartbeat for "));
    if (harm == Harm::stop_heartbeats) CHECK(died.why.starts_with("no heartbeat for "));
    if (harm == Harm::close_sockets) {
        CHECK(died.why.find("connection") != std::string::npos);
    }
    CHECK(rig.crew.process_of(InstanceId{victim}) == -1);
    const auto rest = victim == 0 ? ids({1, 2}) : ids({0, 1});
    const runtime::GroupEntered entered = rig.enter(rest, plan_of(2));
    CHECK(entered.step == static_cast<std::int64_t>(rig.steps().size()));
    rig.train_to(entered.step + 5);
    CHECK_FALSE(rig.enter(rest, plan_of(3)).group_changed);  // digests compared
}

static void die_in_transition(std::uint32_t victim, int moment) {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(8);
    rig.crew.begin_transition(ids({0, 1, 2}), plan_of(2));
    rig.look(std::chrono::milliseconds(moment));
    do_harm(rig, InstanceId{victim}, Harm::kill);
    const runtime::WorkerDied first = rig.expect<runtime::WorkerDied>();
    rig.look(std::chrono::milliseconds(500));
    CHECK(first.worker == InstanceId{victim});
    // It may have come too late to be in the way.
    bool entered = false;
    for (const runtime::CrewEvent& event : rig.log) {
        const auto* group = std::get_if<runtime::GroupEntered>(&event);
        entered = entered || (group != nullptr && group->version == PlanVersion{2});
    }
    if (!entered) rig.expect<runtime::TransitionFailed>();
    if (!entered && victim == 2) {
        rig.train_to(12);  // the old group is as it was
        CHECK(rig.steps().back().report.words.at(0).plan_version == 1);
        return;
    }
    std::vector<InstanceId> rest;
    for (const std::uint32_t id : {0U, 1U, 2U}) {
        if (id != victim) rest.push_back(InstanceId{id});
    }
    CHECK(rig.enter(rest, plan_of(3)).step == 8);
    rig.train_to(12);
}

TEST_CASE("crew: a member that dies in a transition takes nobody with it", "[live]") {
    const std::uint32_t victim = GENERATE(0U, 1U, 2U);  // a holder, the newcomer
    const int moment = GENERATE(0, 1, 3, 10);
    CAPTURE(victim, moment);
    die_in_transition(victim, moment);
}

TEST_CASE("crew: a member that is stopped in a transition is found and named", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(4);
    do_harm(rig, InstanceId{2}, Harm::stop);
    rig.crew.begin_transition(ids({0, 1, 2}), plan_of(2));
    CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{2});
    rig.expect<runtime::TransitionFailed>();
    rig.train_to(8);
}

TEST_CASE("crew: a newcomer that hangs in a transition is killed at its deadline", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(4);
    do_harm(rig, InstanceId{2}, Harm::hang);
    rig.crew.begin_transition(ids({0, 1, 2}), plan_of(2));
    const runtime::WorkerDied died = rig.expect<runtime::WorkerDied>();
    INFO(died.why);
    CHECK(died.worker == InstanceId{2});
    rig.expect<runtime::TransitionFailed>();
    rig.train_to(8);
}

TEST_CASE("crew: losing all but one loses no committed step", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2, 3}));
    rig.enter(ids({0, 1, 2, 3}), plan_of(1));
    rig.crew.run();
    rig.look(30ms);
    for (const std::uint32_t id : {0U, 1U, 3U}) do_harm(rig, InstanceId{id}, Harm::kill);
    for (int i = 0; i < 3; ++i) rig.expect<runtime::WorkerDied>();
    const runtime::GroupEntered entered = rig.enter(ids({2}), plan_of(2));
    CHECK(entered.step == static_cast<std::int64_t>(rig.steps().size()));
    rig.train_to(entered.step + 3);
}

TEST_CASE("crew: an abandoned group stands and can begin again", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1, 2}), plan_of(1));
    for (std::uint32_t round = 0; round < 5; ++round) {
        rig.crew.run();
        rig.look(5ms);
        rig.crew.abandon();
        const runtime::GroupEntered entered = rig.enter(ids({0, 1, 2}), plan_of(2 + round));
        CHECK(entered.group_changed);
        CHECK(entered.step == static_cast<std::int64_t>(rig.steps().size()));
    }
}

TEST_CASE("crew: a worker that cannot be started or read its data says why", "[live]") {
    kernels::TrainingSpec spec = small_job();
    std::string expected;
    SECTION("no such file") {
        spec.data.kind = "idx";
        spec.data.images = "/nonexistent/images";
        spec.data.labels = "/nonexistent/labels";
        CrewRig rig(spec);
        rig.crew.spawn(InstanceId{0});
        const runtime::WorkerDied died = rig.expect<runtime::WorkerDied>();
        CHECK(died.why.find("/nonexistent/images") != std::string::npos);
        CHECK_FALSE(died.was_member);
    }
    SECTION("no such program") {
        const ScratchFolder folder;
        runtime::CrewSetup setup = CrewRig::setup_of(spec, short_deadlines(), folder.path());
        setup.worker_program = "/nonexistent/program";
        runtime::Crew crew(setup);
        crew.spawn(InstanceId{0});
        const auto events = crew.poll(10s);
        REQUIRE(events.size() == 1);
        CHECK(std::get<runtime::WorkerDied>(events[0]).why ==
              "could not be started: No such file or directory");
    }
#ifndef __SANITIZE_ADDRESS__  // with it, objects are looked at through a pipe, which takes two
    SECTION("no descriptor") {
        const ScratchFolder folder;
        runtime::Crew crew(CrewRig::setup_of(spec, short_deadlines(), folder.path()));
        rlimit before{};
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
        const rlimit few{3, before.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
        crew.spawn(InstanceId{0});
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
        const auto events = crew.poll(10s);
        REQUIRE(events.size() == 1);
        CHECK(std::get<runtime::WorkerDied>(events[0]).why ==
              "could not be started: pipe: Too many open files");
        crew.dismiss(InstanceId{0});
        crew.kill(InstanceId{0});
    }
#endif
    SECTION("a program that is no worker") {
        const ScratchFolder folder;
        runtime::CrewDeadlines deadlines = short_deadlines();
        deadlines.spawn = 200ms;
        runtime::CrewSetup setup = CrewRig::setup_of(spec, deadlines, folder.path());
        setup.worker_program = "/bin/sleep";
        setup.worker_arguments = {"1000"};
        runtime::Crew crew(setup);
        crew.spawn(InstanceId{0});
        const auto events = crew.poll(10s);
        REQUIRE(events.size() == 1);
        CHECK(std::get<runtime::WorkerDied>(events[0]).why ==
              "was not ready within 0.2 s; it had not said hello");
    }
}

}  // namespace ukemi
