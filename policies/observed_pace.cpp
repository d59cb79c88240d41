#include "policies/observed_pace.hpp"

#include <algorithm>
#include <cstdlib>

namespace ukemi::policies {

void SmoothedMedian::add(double value) {
    if (count_ == 0) last_.fill(value);
    if (count_ == 1) last_[2] = std::min(last_[0], value);  // of two, the one that nothing held up
    last_[static_cast<std::size_t>(count_ % 3)] = value;
    ++count_;
    const auto [a, b, c] = last_;
    const double median = std::max(std::min(a, b), std::min(std::max(a, b), c));
    const double weight = std::max(0.25, 1.0 / static_cast<double>(count_));
    value_ += weight * (median - value_);
}

namespace {

// So many steps and so long: a question in mid-step counts it for the next stretch.
constexpr std::int64_t steps_measured = 16;
constexpr double measured_s = 1e-3;

}  // namespace

std::optional<double> ObservedPace::step_ratio(std::int32_t workers) const {
    const StepsSeen* nearest = nullptr;
    std::int32_t distance = 0;
    for (const auto& [size, steps] : steps_) {
        const std::int32_t away = std::abs(size - workers);
        if (!steps.ratio.known() || (nearest != nullptr && away >= distance)) continue;
        nearest = &steps;
        distance = away;
    }
    if (nearest == nullptr) return std::nullopt;
    return nearest->ratio.value();
}

std::optional<Duration> ObservedPace::pause(GroupPause kind) const {
    const SmoothedMedian& measured = pauses_[static_cast<std::size_t>(kind)];
    if (!measured.known()) return std::nullopt;
    return seconds(measured.value());
}

std::optional<Duration> ObservedPace::arrival() const {
    if (!arrivals_.known()) return std::nullopt;
    return seconds(arrivals_.value());
}

ObservedPace::Look ObservedPace::look_at(const Observation& seen, const PaceTerms& terms) const {
    Look look;
    look.now = seen.now;
    look.phase = seen.phase;
    look.workers = seen.workers;
    look.steps = seen.steps_done;
    look.samples_safe = seen.samples_safe;
    look.losses = seen.spot_losses;
    look.spot = seen.spot_held;
    look.on_demand = seen.on_demand_held;
    for (const ZoneView& zone : seen.zones) look.pending += zone.pending;
    look.remaining = seen.transition_remaining;
    look.plan = terms.plan;
    return look;
}

// Since the last look, at which the group trained.
Instant ObservedPace::trained_until(const Look& now) const {
    const std::int64_t steps = now.steps - last_->steps;
    if (steps < 0 || !last_->rate) return now.now;
    const Int128 trained = nanoseconds_for(*last_->rate, steps);
    const Duration most = now.now - last_->now;
    return trained < most.raw() ? last_->now + nanoseconds(static_cast<std::int64_t>(trained))
                                : now.now;
}

void ObservedPace::measure_steps(const Look& now, const PaceTerms& terms, bool clocked) {
    const Look& last = *last_;
    const bool both_train = last.phase == JobPhase::running && now.phase == JobPhase::running;
    const bool same_group = last.workers == now.workers && last.spot == now.spot &&
                            last.on_demand == now.on_demand && last.losses == now.losses;
    if (!both_train || !same_group || last.plan != now.plan || now.steps < last.steps) return;
    if (!terms.expected) return;
    Duration time = now.now - last.now;
    if (terms.loses_work && now.samples_safe != last.samples_safe) {
        if (clocked) return;  // who knows how many there were
        time -= terms.saving;
        if (time < Duration{}) return;
    }
    StepsSeen& seen = steps_[now.workers];
    const std::int64_t steps = now.steps - last.steps;
    seen.seen_s += to_seconds(time);
    seen.expected_s += static_cast<double>(nanoseconds_for(*terms.expected, steps)) * 1e-9;
    seen.steps += steps;
    if (seen.steps < steps_measured || seen.expected_s < measured_s) return;
    seen.ratio.add(std::clamp(seen.seen_s / seen.expected_s, 1e-3, 1e3));
    seen.seen_s = seen.expected_s = 0;
    seen.steps = 0;
}

void ObservedPace::begin_change(const Look& now, Instant at) {
    const bool trained = last_->phase == JobPhase::running;
    change_at_ = at;
    workers_before_ = trained ? last_->workers : 0;
    plan_before_ = last_->plan;
    if (now.workers != workers_before_ || !trained) joined(at);
}

void ObservedPace::joined(Instant at) {
    if (asked_at_ && at >= *asked_at_) arrivals_.add(to_seconds(at - *asked_at_));
    asked_at_.reset();
}

void ObservedPace::end_change(const Look& now, const PaceTerms& terms) {
    if (!change_at_) return;
    Duration time = now.now - *change_at_;
    change_at_.reset();
    GroupPause kind = GroupPause::grow;
    if (workers_before_ == 0) {
        kind = GroupPause::start;
        if (now.samples_safe > 0) time = std::max(time - terms.restoring, Duration{});
    } else if (now.workers < workers_before_) {
        kind = GroupPause::shrink;
    } else if (now.workers == workers_before_ && now.plan != plan_before_) {
        kind = GroupPause::retune;
    }
    pauses_[static_cast<std::size_t>(kind)].add(to_seconds(time));
}

void ObservedPace::measure_changes(const Look& now, const PaceTerms& terms) {
    const Look& last = *last_;
    const bool lost = now.losses != last.losses;
    const bool refused =
        now.pending < last.pending && now.spot + now.on_demand <= last.spot + last.on_demand;
    if (refused) asked_at_.reset();
    if (now.pending > 0 && last.pending == 0 && !asked_at_) asked_at_ = now.now;
    switch (now.phase) {
        case JobPhase::transition:
            if (last.phase == JobPhase::running) {
                begin_change(now, lost ? now.now : trained_until(now));
            } else if (last.phase != JobPhase::transition) {
                begin_change(now, now.now);
            } else if (now.remaining > last.remaining) {
                change_at_ = now.now;  // another one followed at once
            } else if (lost) {
                change_at_.reset();  // whether it goes on or began anew cannot be told
            }
            return;
        case JobPhase::running:
            if (last.phase == JobPhase::running) {  // a change that nobody was asked in
                const bool saved = terms.loses_work && now.samples_safe != last.samples_safe;
                const bool changed = now.workers != last.workers || now.plan != last.plan;
                if (!changed || lost || saved || now.steps < last.steps) return;
                begin_change(now, trained_until(now));
            } else if (lost) {
                change_at_.reset();
            }
            end_change(now, terms);
            return;
        case JobPhase::waiting:
        case JobPhase::checkpointing:
        case JobPhase::finished: change_at_.reset(); return;
    }
}

void ObservedPace::observe(const Observation& seen, const PaceTerms& terms) {
    Look now = look_at(seen, terms);
    const bool clocked = seen.decision_interval > Duration{};
    const bool moves = std::ranges::any_of(
        seen.zones, [](const ZoneView& zone) { return zone.move_time > Duration{}; });
    if (last_) {
        measure_steps(now, terms, clocked);
        if (!clocked && !moves) measure_changes(now, terms);
    }
    if (terms.expected) {
        now.rate = terms.expected;
        if (const auto ratio = step_ratio(now.workers)) {
            now.rate = stretched(*terms.expected, round_nearest(*ratio * 1e9), 1'000'000'000);
        }
    }
    last_ = now;
}

}  // namespace ukemi::policies
