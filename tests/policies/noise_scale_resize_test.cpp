// noise_scale_resize_test.cpp — a worker more for a noisier gradient, and never more than there
// are.
#include <cmath>
#include <limits>

#include "tests/policies/scripted_policy.hpp"
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// A job of two workers that may have four, shown one noise scale after the other.
struct NoisyJob : Situation {
    NoisyJob() {
        plan.workers_max = 2;
        plan.fleet.front().count = 2;
    }
    PolicyView view(const Predictor& predictor) {
        return {seen, plan, predictor, nullptr, random, 4};
    }
    Decision step(Policy& policy, double noise_scale) {
        const auto predictor = make_profile_predictor(profile);
        ++seen.steps_done;
        seen.gradient.noise_scale = noise_scale;
        return policy.after_step(view(*predictor));
    }
    Decision epoch_ends(Policy& policy) {
        const auto predictor = make_profile_predictor(profile);
        return policy.after_epoch(view(*predictor));
    }
    // An epoch of these steps; what the policy says after it is put into the Plan.
    std::int32_t epoch(Policy& policy, std::initializer_list<double> noise_scales) {
        const auto predictor = make_profile_predictor(profile);
        for (const double noise_scale : noise_scales) {
            CHECK(step(policy, noise_scale) == Decision{});
        }
        apply(policy.after_epoch(view(*predictor)), plan);
        CHECK(fleet_count(plan) == plan.workers_max);
        return plan.workers_max;
    }
};

}  // namespace

TEST_CASE("decision: a resize turns the fleet and the group alike", "[decision]") {
    const Decision decision = resized_to(5);
    CHECK(knobs_turned(decision) == KnobSet{Knob::count, Knob::workers});
    Plan plan;
    plan.fleet = {{ZoneId{0}, 0, Market::spot, 2, {}}, {ZoneId{1}, 0, Market::on_demand, 2, {}}};
    apply(decision, plan);
    CHECK(plan.workers_max == 5);
    CHECK(fleet_count(plan) == 5);
}

TEST_CASE("noise_scale_resize: grows after each epoch whose mean is above the one before",
          "[noise_scale_resize]") {
    const auto policy = policy_named("noise_scale_resize");
    CHECK(policy->every_steps() == 1);
    CHECK(policy->hooks().has(Hook::after_epoch));
    NoisyJob job;
    CHECK(job.epoch(*policy, {10, 20}) == 2);      // nothing to compare 15 with
    CHECK(job.epoch(*policy, {16, 15}) == 3);      // 15.5
    CHECK(job.epoch(*policy, {15, 16}) == 3);      // as before
    CHECK(job.epoch(*policy, {40, -20, 4}) == 3);  // 8
    CHECK(job.epoch(*policy, {9}) == 4);
    CHECK(job.epoch(*policy, {99}) == 4);  // there are no more
    CHECK(job.epoch(*policy, {98}) == 4);  // and it never shrinks
}

TEST_CASE("noise_scale_resize: says what and why", "[noise_scale_resize]") {
    const auto policy = policy_named("noise_scale_resize", R"({"every_steps": 1})");
    NoisyJob job;
    CHECK(job.step(*policy, 1) == Decision{});
    Decision expected = resized_to(3);
    expected.reason = "the noise scale rose";
    CHECK(job.step(*policy, 2) == expected);
}

TEST_CASE("noise_scale_resize: what was not measured does not count", "[noise_scale_resize]") {
    const auto policy = policy_named("noise_scale_resize");
    NoisyJob job;
    CHECK(job.epoch(*policy, {0, 0}) == 2);
    CHECK(job.epoch(*policy, {0, 10, std::nan("")}) == 2);  // the first mean
    CHECK(job.epoch(*policy, {}) == 2);
    CHECK(job.epoch(*policy, {infinite, -infinite, 0}) == 2);
    CHECK(job.epoch(*policy, {11, 0}) == 3);
}

TEST_CASE("noise_scale_resize: compares periods of steps where it is told to",
          "[noise_scale_resize]") {
    const auto policy =
        policy_named("noise_scale_resize", R"({"every_steps": 6, "measure_every_steps": 2})");
    CHECK(policy->every_steps() == 2);
    CHECK_FALSE(policy->hooks().has(Hook::after_epoch));
    ScriptedController driven;  // in the hands of a Controller, which keeps to the multiples
    driven.setup.policies.push_back(
        policy_named("noise_scale_resize", R"({"every_steps": 6, "measure_every_steps": 2})"));
    driven.setup.plan.fleet.resize(1);
    driven.setup.plan.workers_max = 2;
    driven.setup.capabilities.instances_max = 3;
    std::vector<std::int64_t> grew_at;
    Controller& controller = driven.controller();
    while (controller.steps_done() < 24) {
        while (const auto hook = controller.next_hook()) {
            driven.seen.gradient.noise_scale = static_cast<double>(controller.steps_done());
            const auto plan = controller.propose(*hook, driven.seen);
            if (!plan) continue;
            controller.committed(plan->version);
            grew_at.push_back(controller.steps_done());
        }
        controller.steps_finished(controller.steps_until_hook(1).value(), 1);
    }
    CHECK(grew_at == std::vector<std::int64_t>{12});  // 4 at step 6, 10 at 12; then all are there
    CHECK(controller.plan().workers_max == 3);
    CHECK(fleet_count(controller.plan()) == 3);
    CHECK(controller.refused_count() == 0);
}

TEST_CASE("noise_scale_resize: refuses periods that it could not measure", "[noise_scale_resize]") {
    CHECK_THROWS_WITH(
        policy_named("noise_scale_resize", R"({"every_steps": 10, "measure_every_steps": 4})"),
        "test.json: at /measure_every_steps: expected a divisor of \"every_steps\"");
    CHECK_THROWS_WITH(policy_named("noise_scale_resize", R"({"every_steps": 0})"),
                      Catch::Contains("/every_steps: expected an integer from 1 to"));
}

TEST_CASE("noise_scale_resize: monitoring off-line decides the same, and later",
          "[noise_scale_resize]") {
    const auto online = policy_named("noise_scale_resize");
    const auto offline = policy_named("noise_scale_resize", R"({"analysis_time": "10 min"})");
    NoisyJob job;
    const auto both = [&](double noise_scale) {
        return std::pair{job.step(*online, noise_scale), job.step(*offline, noise_scale)};
    };
    both(10);
    CHECK(job.epoch_ends(*online) == Decision{});
    CHECK(job.epoch_ends(*offline) == Decision{});
    both(20);
    CHECK(job.epoch_ends(*online).workers_max == 3);
    CHECK(job.epoch_ends(*offline) == Decision{});  // the records are being read
    job.at(minutes(9));
    CHECK(job.step(*offline, 20) == Decision{});
    job.at(minutes(10));
    CHECK(job.step(*offline, 20).workers_max == 3);
    CHECK(job.step(*offline, 20) == Decision{});
}
