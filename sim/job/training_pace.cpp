// training_pace.cpp — how fast a simulated group is, and what policies see of it.
#include <algorithm>

#include "sim/job/training.hpp"

namespace ukemi::sim {

// What a step waits for, with whatever else is on the network that a worker notices who has so many
// after him; the last one notices all of it.
Duration Training::communication_at(Instant now, std::int32_t after_him) const {
    Duration time = policies::exposed_communication(job_->profile, controller_->plan(), workers_);
    for (const Interference& one : job_->interference) {
        const bool now_there = one.from <= now && now < one.until;
        if (now_there && one.collective == controller_->plan().collective &&
            after_him < one.noticed_by) {
            time = seconds(to_seconds(time) * one.factor);
        }
    }
    return time;
}

// The slow compute more slowly; the network is what it is.
policies::StepRate Training::pace() const {
    const policies::Plan& plan = controller_->plan();
    const policies::StepRate rate = policies::rate_of(job_->profile, plan, workers_formed_);
    if (slowed_) {
        const Duration step = policies::time_for(policies::scaled(rate, speed_per_mille_), 1);
        return {1, slowed_step(*job_->pipelines, step)};
    }
    if (communication_ <= Duration{}) return policies::scaled(rate, speed_per_mille_);
    const Duration calm = policies::exposed_communication(job_->profile, plan, workers_);
    const policies::StepRate computing{1, policies::time_for(rate, 1) - calm};
    return policies::slowed(policies::scaled(computing, speed_per_mille_), communication_);
}

// Steps until the network has changed, at least one.
std::optional<std::int64_t> Training::steps_to_other_pace(Instant now) const {
    Instant next = Instant::never();
    for (const Interference& one : job_->interference) {
        if (one.from > now) next = std::min(next, one.from);
        if (one.until > now) next = std::min(next, one.until);
    }
    if (next == Instant::never()) return std::nullopt;
    return segment_.steps_until(next);
}

// Of a step, what the slowest worker computes. A table of whole steps says nothing of their parts.
Duration Training::computing_in(Duration step) const {
    const Duration rest = step - communication_;
    if (!job_->profile.step_time) return rest;
    const policies::ExchangeView parts =
        policies::exchange_of(*job_->profile.step_time, controller_->plan(), workers_);
    const Int128 whole = Int128{parts.compute.raw()} + parts.exposed.raw();
    if (whole <= 0) return rest;
    return nanoseconds(static_cast<std::int64_t>(rest.raw() * Int128{parts.compute.raw()} / whole));
}

// In a synchronous step all wait for the slowest. Where nothing is known of a step's parts, they
// are not shown; unless workers differ, which would not be seen otherwise: then all of it is taken
// for computing.
void Training::observe_workers(policies::Observation& seen) const {
    seen.worker_views.clear();
    if (phase_ != policies::JobPhase::running || members_.empty()) return;
    const Duration step = policies::time_for(segment_.rate, 1);
    if (step < nanoseconds(1000)) return;  // time is its work
    const Duration computing = computing_in(step);
    auto after_him = static_cast<std::int32_t>(members_.size());
    for (const auto& [instance, speed] : members_) {
        policies::WorkerView view{instance, step, {}, {}, {}};
        --after_him;
        if (parts_known_) {
            const Int128 own = static_cast<Int128>(computing.raw()) * speed_per_mille_ / speed;
            view.compute = nanoseconds(static_cast<std::int64_t>(own));
            const Duration unnoticed = communication_ - communication_at(segment_.since, after_him);
            view.exposed_communication = step - view.compute - unnoticed;
        }
        seen.worker_views.push_back(view);
    }
}

void Training::observe(policies::Observation& seen) const {
    observe_workers(seen);
    seen.links = job_->profile.links.between(workers_);
    seen.exchange = {};
    if (job_->profile.step_time && workers_ > 0) {
        seen.exchange =
            policies::exchange_of(*job_->profile.step_time, controller_->plan(), workers_);
    }
    if (learning_) {
        const LearningStep step = step_settings();
        seen.gradient = learning_->gradient(learned_, step);
        const auto error = learning_->codec_error(learned_, step);
        if (error && workers_ > 0) seen.exchange.relative_error = *error;
        return;
    }
    if (job_->noise_scale.empty()) return;
    seen.gradient.noise_scale = noise_scale_at(job_->noise_scale, controller_->samples_done());
}

}  // namespace ukemi::sim
