// crew_nccl_test.cpp — groups of worker processes, each on a device of its own, whose gradients go
// over NCCL: with stand-ins for both (runtime.cpp, nccl.cpp).
#include <csignal>
#include <cstdlib>

#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

// Workers that are spawned meanwhile see so many devices.
struct Devices {
    explicit Devices(int count) {
        ::setenv("UKEMI_ON_HOST_DEVICES", std::to_string(count).c_str(), 1);
    }
    ~Devices() { ::unsetenv("UKEMI_ON_HOST_DEVICES"); }
    Devices(const Devices&) = delete;
    Devices& operator=(const Devices&) = delete;
};

kernels::TrainingSpec image_job() {
    kernels::TrainingSpec spec = small_job();
    spec.model.kind = "softmax";
    spec.model.hidden.clear();
    return spec;
}

double last_loss(const CrewRig& rig) { return rig.steps().back().report.loss; }

}  // namespace

TEST_CASE("crew: workers with a GPU each sum over NCCL, through every change", "[live][nccl]") {
    const Devices devices(8);
    CrewRig rig(image_job());
    rig.spawn(ids({0, 1, 2, 3}));
    CHECK(rig.enter(ids({0, 1, 2}), plan_of(1)).exchange == "nccl");
    rig.train_to(5);
    CHECK(rig.enter(ids({0, 1, 2, 3}), plan_of(2)).exchange == "nccl");  // a newcomer: anew
    rig.train_to(10);
    CHECK(rig.enter(ids({1, 3}), plan_of(3)).exchange == "nccl");  // fewer: within it
    rig.train_to(15);
    CHECK(rig.enter(ids({3}), plan_of(4)).exchange.empty());  // alone
    rig.train_to(20);
    CHECK(rig.enter(ids({3, 0}), plan_of(5)).exchange == "nccl");
    rig.train_to(25);
    CHECK(rig.steps().size() == 25);

    // The same history over sockets: other sums' order, equal to rounding.
    double over_sockets = 0;
    {
        const Devices one(1);
        CrewRig other(image_job());
        other.spawn(ids({0, 1, 2, 3}));
        CHECK(other.enter(ids({0, 1, 2}), plan_of(1)).exchange ==
              "sockets: ranks 0 and 1 share a GPU");
        other.train_to(5);
        other.enter(ids({0, 1, 2, 3}), plan_of(2));
        other.train_to(10);
        other.enter(ids({1, 3}), plan_of(3));
        other.train_to(15);
        other.enter(ids({3}), plan_of(4));
        other.train_to(20);
        other.enter(ids({3, 0}), plan_of(5));
        other.train_to(25);
        over_sockets = last_loss(other);
    }
    CHECK(last_loss(rig) == Approx(over_sockets).epsilon(1e-5));
}

TEST_CASE("crew: a member lost in a sum over NCCL is named, and the others go on", "[live][nccl]") {
    const Devices devices(8);
    const bool frozen = GENERATE(false, true);
    CAPTURE(frozen);
    CrewRig rig(image_job());
    rig.spawn(ids({0, 1, 2}));
    CHECK(rig.enter(ids({0, 1, 2}), plan_of(1)).exchange == "nccl");
    rig.crew.run();
    rig.look(30ms);
    ::kill(rig.crew.process_of(InstanceId{1}), frozen ? SIGSTOP : SIGKILL);
    const auto died = rig.expect<runtime::WorkerDied>();
    INFO(died.why);
    CHECK(died.worker == InstanceId{1});
    CHECK_FALSE(died.expected);
    const auto rest = rig.enter(ids({0, 2}), plan_of(2));
    CHECK(rest.exchange == "nccl");
    CHECK(rest.step == static_cast<std::int64_t>(rig.steps().size()));
    rig.train_to(rest.step + 5);
    CHECK_FALSE(rig.enter(ids({0, 2}), plan_of(3)).group_changed);  // digests compared
}

TEST_CASE("crew: a change over NCCL that fails leaves the old group as it was", "[live][nccl]") {
    const Devices devices(8);
    CrewRig rig(image_job());
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(5);
    rig.crew.begin_transition(ids({0, 1, 2}), plan_of(2));
    ::kill(rig.crew.process_of(InstanceId{2}), SIGKILL);
    CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{2});
    rig.look(500ms);
    bool failed = false;
    for (const auto& event : rig.log) {
        failed = failed || std::holds_alternative<runtime::TransitionFailed>(event);
    }
    REQUIRE(failed);  // it is killed before it can have answered
    rig.train_to(10);
    CHECK(rig.steps().back().report.words.at(0).plan_version == 1);
    CHECK(rig.enter(ids({0, 1}), plan_of(3)).step == 10);
}

}  // namespace ukemi
