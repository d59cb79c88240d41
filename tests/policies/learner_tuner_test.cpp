// learner_tuner_test.cpp — learners are added up to the knee, and one step back from it.
#include "tests/policies/situation.hpp"

using namespace ukemi;

namespace {

// A GPU that trains so many samples a second with 1, 2, 3 … learners.
struct TunedGpu : Situation {
    explicit TunedGpu(std::vector<double> of_learners) : throughput(std::move(of_learners)) {
        seen.workers = 1;
        seen.samples_done = 0;
    }
    // A window of ten steps of `seconds_long` together; what is decided is committed.
    std::int32_t window(Policy& policy, bool commit = true) {
        const auto predictor = make_profile_predictor(profile);
        const double rate = throughput.at(static_cast<std::size_t>(plan.learners_per_gpu) - 1);
        for (int step = 0; step < 10; ++step) {
            seen.now = seen.now + milliseconds(200);
            seen.samples_done += static_cast<std::int64_t>(rate / 5);
            ++seen.steps_done;
            const Decision decision = policy.after_step({seen, plan, *predictor, nullptr, random});
            if (decision == Decision{}) continue;
            CHECK(knobs_turned(decision) == KnobSet{Knob::learners_per_gpu});
            if (commit) {
                apply(decision, plan);
                policy.committed(plan);
            } else {
                policy.discarded(plan, "a worker died");
            }
        }
        return plan.learners_per_gpu;
    }
    std::vector<double> throughput;
};

}  // namespace

TEST_CASE("learner_tuner: up, up, down and stop", "[learner_tuner][golden]") {
    // Crossbow's rule with its threshold of 0.1: +60 %, then +5 %.
    const auto policy = policy_named("learner_tuner", R"({"window_steps": 9})");
    TunedGpu gpu({1000, 1600, 1680});
    CHECK(gpu.ask_before_train(*policy) == Decision{});
    CHECK(gpu.window(*policy) == 2);
    CHECK(gpu.window(*policy) == 3);
    CHECK(gpu.window(*policy) == 2);
    gpu.throughput = {1, 9000, 1};
    CHECK(gpu.window(*policy) == 2);  // it has stopped
    CHECK(gpu.window(*policy) == 2);
}

TEST_CASE("learner_tuner: a change that was discarded is asked for again", "[learner_tuner]") {
    const auto policy = policy_named("learner_tuner", R"({"window_steps": 9})");
    TunedGpu gpu({1000, 1600, 1680});
    gpu.ask_before_train(*policy);
    CHECK(gpu.window(*policy, false) == 1);
    CHECK(gpu.window(*policy) == 2);
    CHECK(gpu.window(*policy) == 3);
    CHECK(gpu.window(*policy, false) == 3);
    CHECK(gpu.window(*policy) == 2);
}

TEST_CASE("learner_tuner: stays within its limits", "[learner_tuner]") {
    const auto policy = policy_named("learner_tuner", R"({"window_steps": 9, "learners_max": 2})");
    TunedGpu gpu({1000, 2000, 4000});
    gpu.ask_before_train(*policy);
    CHECK(gpu.window(*policy) == 2);
    CHECK(gpu.window(*policy) == 2);
    CHECK(gpu.window(*policy) == 2);
}

TEST_CASE("learner_tuner: a window does not span a change of the group", "[learner_tuner]") {
    const auto policy = policy_named("learner_tuner", R"({"window_steps": 15})");
    TunedGpu gpu({1000, 1600, 1680});
    gpu.ask_before_train(*policy);
    CHECK(gpu.window(*policy) == 1);
    gpu.seen.workers = 2;
    CHECK(gpu.window(*policy) == 1);  // 20 steps, but only 9 of them with two workers
    CHECK(gpu.window(*policy) == 2);
}
