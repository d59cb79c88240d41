// batch_situation.hpp — a job whose batch and learning rate are looked at: steps, epochs and noise.
#pragma once

#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

namespace ukemi {

// Four workers, batch 256 at rate 0.1; T = 10 ms + 0.1 ms × samples of a worker.
struct BatchSituation : Situation {
    std::int64_t samples_per_epoch = 10'000;

    BatchSituation() {
        profile.step_time.emplace();
        profile.step_time->compute = policies::affine_time(milliseconds(10), nanoseconds(100'000));
        plan.global_batch = 256;
        plan.workers_max = 4;
        plan.learning_rate = 0.1;
        seen.workers = 4;
        seen.samples_done = 0;
        seen.samples_total = 1'000'000;
    }
    BatchSituation& noise(double noise_scale) {
        seen.gradient.noise_scale = noise_scale;
        return *this;
    }
    BatchSituation& epoch(std::int64_t number) {
        seen.epoch = number;
        seen.samples_done = number * samples_per_epoch;
        return *this;
    }
    // What the hook answers; it is committed.
    policies::Decision carry_out(policies::Policy& policy, policies::Hook hook) {
        const auto predictor = test::make_profile_predictor(profile);
        policies::PolicyView view{seen, plan, *predictor, nullptr, random};
        view.samples_per_epoch = samples_per_epoch;
        const policies::Decision decision =
            hook == policies::Hook::before_train   ? policy.before_train(view)
            : hook == policies::Hook::before_epoch ? policy.before_epoch(view)
            : hook == policies::Hook::before_step  ? policy.before_step(view)
            : hook == policies::Hook::after_step   ? policy.after_step(view)
            : hook == policies::Hook::after_epoch
                ? policy.after_epoch(view)
                : policy.on_event(policies::EventKind::clock, view);
        CHECK(policy.knobs().includes(policies::knobs_turned(decision)));
        CHECK(policy.hooks().has(hook));
        policies::apply(decision, plan);
        return decision;
    }
};

}  // namespace ukemi
