// crew_learners_test.cpp — several learners in each worker process: equal central models, a loss in
// the midst of a step, other numbers of learners, newcomers, and a checkpoint.
#include <csignal>

#include "runtime/crew_state.hpp"
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

kernels::TrainingSpec averaging_job() {
    kernels::TrainingSpec spec = small_job();
    spec.optimiser.averaging_rate = 0.25;
    spec.optimiser.averaging_momentum = 0.5;
    return spec;
}

policies::Plan learners_plan(std::uint32_t version, std::int32_t learners) {
    policies::Plan plan = plan_of(version);
    plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    plan.learners_per_gpu = learners;
    return plan;
}

}  // namespace

// Where all members say that their replicas ought to be alike, entering a group compares digests.
TEST_CASE("crew: learners of all workers share one central model, whatever their number",
          "[live]") {
    CrewRig rig(averaging_job());
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1}), learners_plan(1, 2));
    rig.train_to(10);
    CHECK_FALSE(rig.enter(ids({0, 1}), learners_plan(2, 3)).group_changed);
    rig.train_to(20);
    CHECK(rig.enter(ids({0, 1, 2}), learners_plan(3, 2)).group_changed);  // with a newcomer
    rig.train_to(30);
    rig.enter(ids({0, 2}), learners_plan(4, 2));
    rig.train_to(35);
    const std::vector<runtime::StepDone> steps = rig.steps();
    REQUIRE(steps.size() == 35);
    CHECK(steps[9].position == 10 * 2 * 2 * 4);
    CHECK(steps[19].position - steps[9].position == 10 * 2 * 3 * 4);
    CHECK(steps[29].position - steps[19].position == 10 * 3 * 2 * 4);
    CHECK(steps[34].report.loss < steps[0].report.loss);
    rig.enter(ids({0, 2}), learners_plan(5, 1));  // digests were equal until here
    rig.train_to(40);
    rig.enter(ids({0, 2}), learners_plan(6, 4));
    rig.train_to(42);
}

TEST_CASE("crew: replicas are compared where every member says that they ought to be alike",
          "[live]") {
    const std::uint32_t not_common = GENERATE(0U, 1U, 2U, 3U);  // 3: all say so
    CAPTURE(not_common);
    runtime::Attempt attempt;
    attempt.members = ids({0, 1, 2});
    for (const InstanceId id : attempt.members) {
        runtime::Entered& entered = attempt.entered[id];
        entered.plan_version = index_of(attempt.plan.version);
        entered.replica_digest = 7;
        entered.replicas_equal = index_of(id) != not_common;
    }
    CHECK(attempt.disagreement().empty());
    attempt.entered[InstanceId{2}].replica_digest = 8;
    CHECK(attempt.disagreement().empty() == (not_common < 3));
    attempt.entered[InstanceId{1}].step = 5;
    CHECK_FALSE(attempt.disagreement().empty());
}

TEST_CASE("crew: a worker killed in mid-run leaves its learners' central model", "[live]") {
    const std::uint32_t victim = GENERATE(0U, 2U);
    CAPTURE(victim);
    CrewRig rig(averaging_job());
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1, 2}), learners_plan(1, 2));
    rig.crew.run();
    rig.look(30ms);
    ::kill(rig.crew.process_of(InstanceId{victim}), SIGKILL);
    CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{victim});
    const auto rest = victim == 0 ? ids({1, 2}) : ids({0, 1});
    const runtime::GroupEntered entered = rig.enter(rest, learners_plan(2, 2));
    CHECK(entered.step == static_cast<std::int64_t>(rig.steps().size()));
    rig.train_to(entered.step + 5);
    CHECK_FALSE(rig.enter(rest, learners_plan(3, 2)).group_changed);  // digests compared
}

TEST_CASE("crew: a checkpoint of learners is the central model, and they begin there", "[live]") {
    CrewRig rig(averaging_job());
    rig.spawn(ids({0, 1, 2, 3}));
    const policies::Plan plan = learners_plan(1, 3);
    rig.enter(ids({0, 1}), plan);
    rig.train_to(8);
    rig.crew.save();
    const runtime::CheckpointSaved saved = rig.expect<runtime::CheckpointSaved>();
    CHECK(saved.position == 8 * 2 * 3 * 4);
    rig.train_to(11);
    for (const std::uint32_t id : {0U, 1U}) rig.crew.kill(InstanceId{id});
    for (int i = 0; i < 2; ++i) CHECK(rig.expect<runtime::WorkerDied>().expected);
    rig.may_go_back = true;
    CHECK(rig.enter(ids({2, 3}), plan, saved.file).step == 8);
    rig.train_to(12);
    const std::uint64_t once = rig.enter(ids({2, 3}), learners_plan(2, 3)).digest;

    CrewRig again(averaging_job());
    again.spawn(ids({0, 1}));
    CHECK(again.enter(ids({0, 1}), plan, saved.file).step == 8);
    again.train_to(12);
    CHECK(again.enter(ids({0, 1}), learners_plan(2, 3)).digest == once);
}

}  // namespace ukemi
