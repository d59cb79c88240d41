// crew_backend_test.cpp — workers that compute on something else than their own threads: the same
// weights, bit for bit, through resizes and losses, and one clear line where it is not there.
#include <algorithm>
#include <csignal>

#include "base/read_file.hpp"
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

struct Told {
    std::vector<std::uint64_t> digests;  // of all replicas, at each transition
    std::vector<double> losses;          // by step
};

policies::Plan averaging_plan(std::uint32_t version, std::int32_t learners) {
    policies::Plan plan = plan_of(version);
    plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    plan.learners_per_gpu = learners;
    return plan;
}

// S-SGD with two workers, three, a loss at a boundary; then learners with the rest.
Told trained(std::vector<std::string> worker_arguments) {
    kernels::TrainingSpec spec = small_job();
    spec.optimiser.averaging_rate = 0.25;
    spec.optimiser.averaging_momentum = 0.5;
    CrewRig rig(spec, short_deadlines(), std::move(worker_arguments));
    Told told;
    const auto enter = [&](const std::vector<InstanceId>& members, const policies::Plan& plan) {
        told.digests.push_back(rig.enter(members, plan).digest);
    };
    rig.spawn(ids({0, 1, 2}));
    enter(ids({0, 1}), plan_of(1));
    rig.train_to(6);
    enter(ids({0, 1, 2}), plan_of(2));
    rig.train_to(12);
    ::kill(rig.crew.process_of(InstanceId{0}), SIGKILL);
    CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{0});
    enter(ids({1, 2}), plan_of(3));
    rig.train_to(18);
    enter(ids({1, 2}), averaging_plan(4, 2));
    rig.train_to(24);
    enter(ids({1, 2}), averaging_plan(5, 3));
    rig.train_to(26);
    enter(ids({1, 2}), averaging_plan(6, 3));
    for (const runtime::StepDone& step : rig.steps()) told.losses.push_back(step.report.loss);
    return told;
}

}  // namespace

TEST_CASE("crew: another backend with the CPU's arithmetic gives the CPU's bits", "[live]") {
    const ScratchFolder scratch;
    const std::filesystem::path tally = scratch.path() / "asked";
    const Told posing = trained({"posing", tally.string()});
    const Told own = trained({});
    REQUIRE(own.digests.size() == 6);
    CHECK(posing.digests == own.digests);
    CHECK(posing.losses == own.losses);
    const std::string asked = read_file(tally);
    CHECK(std::ranges::count(asked, 'm') == 3);  // a model a process
    CHECK(std::ranges::count(asked, 'd') == 2);  // a device of learners for each that is left
    // A gradient a step of each worker, then of each of its learners.
    CHECK(std::ranges::count(asked, 'g') == 6 * (2 + 3 + 2) + 6 * 2 * 2 + 2 * 2 * 3);
}

TEST_CASE("crew: a worker that cannot compute where it shall says why, and is not ready",
          "[live]") {
    CrewRig rig(small_job(), short_deadlines(), {"refusing"});
    rig.crew.spawn(InstanceId{0});
    const runtime::WorkerDied died = rig.expect<runtime::WorkerDied>();
    CHECK_THAT(died.why, Catch::Contains("refusing: no such device answers"));
    for (const runtime::CrewEvent& event : rig.log)
        CHECK_FALSE(std::holds_alternative<runtime::WorkerReady>(event));
}

}  // namespace ukemi
