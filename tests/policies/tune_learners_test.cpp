// tune_learners_test.cpp — learners are added window by window, up to one beyond the knee and back.
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// A GPU that does rates[learners − 1] samples a second, in steps of 16 samples a learner.
struct Gpu : Situation {
    explicit Gpu(std::vector<double> of_learners) : rates(std::move(of_learners)) {
        seen.workers = 1;
    }
    double rate() const {
        const auto index = static_cast<std::size_t>(plan.learners_per_gpu) - 1;
        return rates.at(std::min(index, rates.size() - 1));
    }
    // Trains for so long; returns how often the number of learners changed.
    int train(Policy& policy, Duration time) {
        const Instant end = seen.now + time;
        const auto predictor = make_profile_predictor(profile);
        int changes = 0;
        while (seen.now < end) {
            const std::int64_t samples = 16 * plan.learners_per_gpu;
            seen.now = seen.now + seconds(static_cast<double>(samples) / rate());
            ++seen.steps_done;
            seen.samples_done += samples;
            const Decision decision =
                policy.after_step({seen, plan, *predictor, nullptr, random, 1, learners_of_world});
            if (decision == Decision{}) continue;
            CHECK(knobs_turned(decision) == KnobSet{Knob::learners_per_gpu});
            apply(decision, plan);
            ++changes;
        }
        return changes;
    }
    std::vector<double> rates;
    std::int32_t learners_of_world = 64;
};

}  // namespace

TEST_CASE("tune_learners: one beyond the knee, one back, and no more", "[tune_learners]") {
    const auto policy = policy_named("tune_learners");
    Gpu gpu({160, 250, 290, 292});  // +56 %, +16 %, +0.7 %
    CHECK(gpu.train(*policy, seconds(1.2)) == 1);
    CHECK(gpu.plan.learners_per_gpu == 2);
    CHECK(gpu.train(*policy, whole_seconds(20)) == 3);  // 3, 4, 3
    CHECK(gpu.plan.learners_per_gpu == 3);
    gpu.rates = {160, 1000, 2000, 3000};
    CHECK(gpu.train(*policy, whole_seconds(20)) == 0);
}

TEST_CASE("tune_learners: never more than allowed, and one where two are slower",
          "[tune_learners]") {
    Gpu fast({100, 200, 300, 400});
    const auto limited = policy_named("tune_learners", R"({"learners_max": 2})");
    CHECK(fast.train(*limited, whole_seconds(20)) == 1);
    CHECK(fast.plan.learners_per_gpu == 2);
    Gpu full({100, 95});
    CHECK(full.train(*policy_named("tune_learners"), whole_seconds(20)) == 2);
    CHECK(full.plan.learners_per_gpu == 1);
}

TEST_CASE("tune_learners: a number of learners is judged by a whole window under it",
          "[tune_learners]") {
    // Crossbow's own quirk: two looks at one window see no rise and end the search.
    const auto policy = policy_named("tune_learners", R"({"window": "10 s"})");
    Gpu gpu({160, 320});
    CHECK(gpu.train(*policy, seconds(9.9)) == 0);
    CHECK(gpu.train(*policy, seconds(1)) == 1);
    CHECK(gpu.train(*policy, whole_seconds(9)) == 0);
    CHECK(gpu.plan.learners_per_gpu == 2);
}

TEST_CASE("tune_learners: a group that changes begins its window anew", "[tune_learners]") {
    const auto policy = policy_named("tune_learners");
    Gpu gpu({160, 320});
    for (int change = 0; change < 5; ++change) {
        CHECK(gpu.train(*policy, seconds(0.8)) == 0);
        gpu.seen.workers = 3 - gpu.seen.workers;
    }
    CHECK(gpu.plan.learners_per_gpu == 1);
}

TEST_CASE("tune_learners: stays at the most that the world has", "[tune_learners]") {
    const auto policy = policy_named("tune_learners");
    Gpu gpu({100, 200, 300, 400});
    gpu.learners_of_world = 2;
    CHECK(gpu.train(*policy, whole_seconds(20)) == 1);
    CHECK(gpu.plan.learners_per_gpu == 2);
}
