#include "sim/job/training.hpp"

#include <algorithm>

#include "sim/learning/bends.hpp"

namespace ukemi::sim {

namespace {
constexpr Duration longest_segment = days(36'500);
}

double noise_scale_at(const std::vector<NoisePoint>& curve, std::int64_t samples) {
    INVARIANT(!curve.empty());
    const auto after = std::ranges::upper_bound(curve, samples, {}, &NoisePoint::samples);
    if (after == curve.begin()) return curve.front().noise_scale;
    const NoisePoint& left = *(after - 1);
    if (after == curve.end()) return left.noise_scale;
    const double part = static_cast<double>(samples - left.samples) /
                        static_cast<double>(after->samples - left.samples);
    return left.noise_scale + part * (after->noise_scale - left.noise_scale);
}

Training::Training(const JobSpec& job, policies::Controller& controller, records::Ledger& ledger,
                   RunQueue& queue, std::uint64_t seed)
    : job_(&job), controller_(&controller), ledger_(&ledger), queue_(&queue) {
    if (job.learning) {
        learning_ = job.learning->drawn(seed);
        learned_ = learned_at_start_ = learned_safe_ = learning_->start();
    }
    show_what_is_left();
}

LearningStep Training::step_settings() const {
    const policies::Plan& plan = controller_->plan();
    const std::int32_t workers = std::max(workers_, job_->workers_min);
    return {policies::samples_per_step(plan, workers),
            plan.learning_rate,
            workers,
            plan.learners_per_gpu,
            plan.synchronisation,
            plan.codec,
            plan.codec_level,
            workers_ > 0 ? ranks_ : nullptr};
}

// Policies are told what a real job could know: the way to go at the present worth of a step, and
// nothing of this run's luck.
void Training::show_what_is_left() {
    if (!learning_) return;
    const LearningStep step = step_settings();
    const bool done = learning_->done(learned_);
    const std::int64_t guess = job_->learning->samples_left(learned_, step);
    controller_->work_is_left(done ? 0 : std::max(step.batch, guess));
}

std::int64_t Training::samples_safe() const {
    return job_->profile.lossless ? controller_->samples_done() : progress_.kept().samples;
}

Duration Training::transition_remaining(Instant now) const {
    return phase_ == policies::JobPhase::transition ? until_ - now : Duration{};
}

void Training::report(Instant now) {
    if (phase_ != policies::JobPhase::running) return;
    const std::int64_t steps = segment_.steps_by(now);
    const std::int64_t news = steps - steps_reported_;
    std::int64_t samples = 0;
    INVARIANT(!__builtin_mul_overflow(news, segment_.samples_per_step, &samples));
    controller_->uneven_steps_finished(news, samples);
    steps_reported_ = steps;
    if (learning_) {
        learned_ = learning_->after(learned_at_start_, steps, step_);
        show_what_is_left();
    }
    progress_.reached(controller_->samples_done());
}

Instant Training::next_step_boundary(Instant now) const {
    return phase_ == policies::JobPhase::running ? segment_.boundary_after(now) : now;
}

// Those that were reported, which is all but the step in progress.
void Training::settle_whole_steps() {
    const Instant worked_until = segment_.end_of(steps_reported_);
    ledger_->elapse(segment_.redone_until(steps_reported_), records::Cause::redone);
    ledger_->elapse(worked_until, records::Cause::useful);
    progress_.ran(worked_until - segment_.since);
    progress_.steps_made(steps_reported_, worked_until - segment_.since, worked_until);
}

void Training::settle(Instant now) {
    switch (phase_) {
        case policies::JobPhase::waiting: break;
        case policies::JobPhase::transition:
            records::add_phases(phase_costs_, phases_, now - since_, workers_);
            ledger_->elapse(now, records::Cause::transition);
            break;
        case policies::JobPhase::running:
            report(now);
            settle_whole_steps();
            ledger_->elapse(now, records::Cause::wasted);
            break;
        case policies::JobPhase::checkpointing:
            ledger_->elapse(now, records::Cause::checkpoint);
            break;
        case policies::JobPhase::finished: break;
    }
    // Nobody is a member now, or the members' clock has just been set: bring it to the present.
    ledger_->elapse(now, records::Cause::idle);
    since_ = now;
}

void Training::cancel_what_is_due() {
    queue_->cancel(due_);
    queue_->cancel(checkpoint_due_);
    queue_->cancel(hook_due_);
    queue_->cancel(phase_due_);
}

void Training::await_boundary(Instant now) {
    queue_->cancel(boundary_due_);
    boundary_due_ = queue_->schedule(next_step_boundary(now), Phase::completion, PlanDue{});
}

bool Training::start(InstanceId instance, Instant now) {
    if (job_->profile.spawn <= Duration{}) return true;
    queue_->schedule(now + job_->profile.spawn, Phase::completion, WorkerStarted{instance});
    return false;
}

Learned Training::shown(const LearningState& state, const LearningStep& step) const {
    const double share =
        static_cast<double>(state.progress) / static_cast<double>(learning_->target());
    Learned all{std::min(share, 1.0), learning_->metric(state)};
    const double noise = learning_->gradient(state, step).noise_scale;
    if (noise > 0) all.noise_scale = noise;
    return all;
}

std::optional<Learned> Training::learned() const {
    if (!learning_) return std::nullopt;
    return shown(learned_, step_settings());
}

std::vector<LearnedAt> Training::learned_on_the_way(Instant until) const {
    if (!learning_ || phase_ != policies::JobPhase::running) return {};
    const std::int64_t most = segment_.steps_by(until) - steps_reported_;
    std::vector<LearnedAt> points;
    for (const std::int64_t steps : bends(*learning_, learned_, step_, most)) {
        points.push_back({segment_.end_of(steps_reported_ + steps),
                          controller_->samples_done() + steps * segment_.samples_per_step,
                          shown(learning_->after(learned_, steps, step_), step_)});
    }
    return points;
}

std::optional<std::uint64_t> Training::model_digest() const {
    return learning_ ? learning_->digest(learned_) : std::nullopt;
}

void Training::go_on(bool slowed, bool member_gone, Instant now) {
    workers_ -= member_gone ? 1 : 0;
    slowed_ = slowed_ || slowed;
    if (phase_ == policies::JobPhase::transition) ledger_->elapse(now, records::Cause::transition);
    if (phase_ == policies::JobPhase::checkpointing) {
        ledger_->elapse(now, records::Cause::checkpoint);
    }
    if (phase_ != policies::JobPhase::running) return;
    report(now);
    // What ends now may yet be torn; the step is not over while it can be.
    if (job_->pipelines->as_simulated) take_back_step(now);
    const Instant boundary = segment_.end_of(steps_reported_);
    Instant next = segment_.end_of(steps_reported_ + 1);
    if (slowed) next = next + slowed_more(*job_->pipelines, next - now);
    settle_whole_steps();
    run_from(boundary, boundary == now ? Duration{} : next - boundary);
}

// One that ends at this very moment.
void Training::take_back_step(Instant now) {
    if (steps_reported_ == 0 || segment_.end_of(steps_reported_) != now) return;
    --steps_reported_;
    controller_->rolled_back(controller_->samples_done() - segment_.samples_per_step,
                             controller_->steps_done() - 1);
    progress_.taken_back(controller_->samples_done());
    if (learning_) learned_ = learning_->after(learned_at_start_, steps_reported_, step_);
}

void Training::tear(Instant now) {
    if (phase_ != policies::JobPhase::running) return;
    report(now);
    take_back_step(now);
    settle_whole_steps();
    ledger_->elapse(now, records::Cause::wasted);
    phase_ = policies::JobPhase::waiting;
}

void Training::stop(Instant now) {
    settle(now);
    cancel_what_is_due();
    phase_ = policies::JobPhase::waiting;
    workers_ = 0;
}

void Training::begin_transition(const TransitionOrder& order, Instant now) {
    const auto workers = static_cast<std::int32_t>(order.members.size());
    INVARIANT(phase_ == policies::JobPhase::waiting);
    INVARIANT(workers >= job_->workers_min || order.provisional);
    settle(now);
    workers_ = workers_formed_ = workers;
    slowed_ = false;
    speed_per_mille_ = std::ranges::min(order.speeds);
    members_.clear();
    for (std::size_t rank = 0; order.workers_shown && rank < order.members.size(); ++rank) {
        members_.emplace_back(order.members[rank], order.speeds[rank]);
    }
    std::ranges::sort(members_);
    parts_known_ = order.workers_differ || !job_->profile.communication.empty() ||
                   job_->profile.links.known() || job_->profile.step_time.has_value();
    if (learning_) {
        ranks_ =
            std::make_shared<std::vector<InstanceId>>(order.members.begin(), order.members.end());
    }
    if (!order.provisional) ++transitions_;
    phase_ = policies::JobPhase::transition;
    phases_ = order.phases;
    until_ = now + records::sum_of(phases_);
    due_ = queue_->schedule(until_, Phase::completion, TransitionEnded{});
    if (order.phases_told_apart) phase_began(now);
}

policies::TransitionPhase Training::transition_phase(Instant now) const {
    if (phase_ != policies::JobPhase::transition) return policies::TransitionPhase::none;
    return records::phase_after(phases_, now - since_);
}

// The beginning of the next one is an event; the last one ends with the transition.
void Training::phase_began(Instant now) {
    Instant next = since_;
    for (const Duration time : phases_) {
        if (next > now) break;
        next = next + time;
    }
    if (next <= now || next >= until_) return;
    phase_due_ = queue_->schedule(next, Phase::completion, PhaseBegan{});
}

// The work's end, or how far ahead it is known that it is not there yet.
LookAhead Training::look_ahead(std::int64_t samples_left, std::int64_t most) const {
    if (!learning_) return {steps_for(samples_left, segment_.samples_per_step), true};
    return learning_->look_ahead(learned_, step_, most);
}

void Training::begin_running(Instant now) {
    INVARIANT(workers_formed_ >= job_->workers_min && workers_ > 0);
    settle(now);
    phase_ = policies::JobPhase::running;
    run_from(now, {});
}

// From a boundary in the past, if the step in progress goes on; the first step takes as long as it
// is said, if it is.
void Training::run_from(Instant since, Duration first_step) {
    cancel_what_is_due();
    communication_ = communication_at(since);
    const std::int64_t done = controller_->samples_done();
    segment_ = {since, pace(), policies::samples_per_step(controller_->plan(), workers_),
                progress_.samples_most() - done, Duration{}};
    if (first_step > Duration{}) {
        segment_.first_later = first_step - policies::time_for(segment_.rate, 1);
    }
    step_ = step_settings();
    learned_at_start_ = learned_;
    steps_reported_ = 0;
    const std::int64_t left = controller_->samples_total() - done;
    INVARIANT(left > 0);
    // More steps than anybody waits for, if the target is never reached.
    const policies::StepRate rate = segment_.rate;
    const Int128 fit = static_cast<Int128>(longest_segment.raw()) * rate.steps / rate.per.raw();
    const auto farthest = static_cast<std::int64_t>(std::max<Int128>(fit, 1));
    auto hook_in = controller_->steps_until_hook(workers_);
    const auto other_pace_in = steps_to_other_pace(since);
    if (other_pace_in) hook_in = std::min(hook_in.value_or(*other_pace_in), *other_pace_in);
    const LookAhead ahead = look_ahead(left, std::min(farthest, hook_in.value_or(farthest)));
    const std::int64_t steps_left = ahead.done ? ahead.steps : farthest;
    if (ahead.done) {
        due_ = queue_->schedule(segment_.end_of(ahead.steps), Phase::completion, WorkFinished{});
    }
    const std::int64_t look_in = ahead.done ? hook_in.value_or(ahead.steps) : ahead.steps;
    if (look_in < steps_left) {
        hook_due_ = queue_->schedule(segment_.end_of(look_in), Phase::completion, StepReached{});
    }
    const auto rest = progress_.until_checkpoint(controller_->plan().checkpoint_interval);
    if (job_->profile.lossless || !rest) return;
    // Where steps are looked at, what is due at this boundary is saved here: a look at every step
    // would put it off for ever. Elsewhere a step comes first.
    const bool looked_at =
        first_step <= Duration{} && look_in < steps_left && progress_.ran_since_checkpoint();
    const auto steps = segment_.steps_to_checkpoint(*rest, looked_at ? 0 : 1, steps_left);
    if (!steps) return;
    checkpoint_due_ = queue_->schedule(segment_.end_of(*steps), Phase::completion, CheckpointDue{});
}

void Training::save_before(Instant deadline, Instant now) {
    if (phase_ != policies::JobPhase::running || job_->profile.lossless) return;
    report(now);
    const auto latest = latest_save(deadline, job_->profile.checkpoint, now);
    if (!latest) return;
    const Instant boundary = segment_.boundary_before(*latest);
    const Instant start = boundary >= now ? boundary : *latest;  // a long step is torn
    if (start == now && !unsaved()) return;                      // nothing to add to the last one
    queue_->cancel(checkpoint_due_);
    checkpoint_due_ = queue_->schedule(start, Phase::completion, CheckpointDue{});
}

void Training::begin_checkpoint(Instant now) {
    INVARIANT(!job_->profile.lossless);
    settle(now);
    cancel_what_is_due();
    phase_ = policies::JobPhase::checkpointing;
    until_ = now + job_->profile.checkpoint;
    due_ = queue_->schedule(until_, Phase::completion, CheckpointEnded{});
}

void Training::finish_checkpoint(Instant now) {
    INVARIANT(phase_ == policies::JobPhase::checkpointing);
    settle(now);
    progress_.checkpoint_ended(SavedWork{controller_->samples_done(), controller_->steps_done()});
    learned_safe_ = learned_;
}

void Training::finish(Instant now) {
    settle(now);
    cancel_what_is_due();
    phase_ = policies::JobPhase::finished;
    workers_ = 0;
}

void Training::keep_all(Instant now) {
    report(now);
    progress_.written(SavedWork{controller_->samples_done(), controller_->steps_done()});
    learned_safe_ = learned_;
}

void Training::roll_back() {
    INVARIANT(phase_ == policies::JobPhase::waiting);
    if (!unsaved()) return;
    const auto kept = progress_.roll_back(controller_->samples_done());
    controller_->rolled_back(kept->samples, kept->steps);
    learned_ = learned_safe_;
    show_what_is_left();
}

}  // namespace ukemi::sim
