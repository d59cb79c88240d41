#include "policies/market/deadline_view.hpp"

#include <algorithm>

#include "policies/market/zone_speed.hpp"

namespace ukemi::policies {

namespace {

// ep(t + ahead) − cp(t), scaled by R(0): integers, so no rounding can flip its sign.
Int128 shortfall(const DeadlineView& view, Duration ahead) {
    const Int128 expected =
        static_cast<Int128>((view.elapsed + ahead).raw()) * view.work_total.raw();
    return expected - static_cast<Int128>(view.done().raw()) * view.limit.raw();
}

}  // namespace

bool DeadlineView::behind(Duration ahead) const { return shortfall(*this, ahead) > 0; }
bool DeadlineView::level_or_behind(Duration ahead) const { return shortfall(*this, ahead) >= 0; }
bool DeadlineView::ahead_by(Duration work) const {
    return -shortfall(*this, Duration{}) >= static_cast<Int128>(work.raw()) * limit.raw();
}

std::optional<Duration> DeadlineView::meets_line_in(Duration ahead) const {
    const double slope = work_total / limit;
    const double expected_s = to_seconds(elapsed + ahead) * slope;
    return in_seconds((expected_s - to_seconds(done())) / (pace - slope));
}

namespace {

// Between the group as it trains now and the job's largest on on-demand.
double pace_of(const PolicyView& view, const Plan& plan, const Predictor& group,
               Duration work_total) {
    const std::int32_t workers = std::min(view.seen.workers, plan.workers_max);
    if (workers < view.seen.workers_min || view.seen.transition_remaining > Duration{}) return 0;
    return work_total / group.work_time(view.seen.samples_total, plan, workers);
}

bool trains_or_saves(const Observation& seen) {
    return seen.phase == JobPhase::running || seen.phase == JobPhase::checkpointing;
}

// As many on-demand machines as ever train, and no others: one of them has what is not saved.
bool on_demand_alone(const Observation& seen, const Plan& plan) {
    return seen.spot_held == 0 && seen.on_demand_held >= plan.workers_max && trains_or_saves(seen);
}

DeadlineView view_under(const PolicyView& view, const Plan& plan, bool on_demand_has_model) {
    const Observation& seen = view.seen;
    const std::int32_t on_demand_speed = on_demand_speed_per_mille(view);
    const std::int32_t group_speed = group_speed_per_mille(view);
    const PredictorAtSpeed on_demand(view.predictor, on_demand_speed);
    const PredictorAtSpeed group(view.predictor, group_speed);
    const auto work = [&](std::int64_t samples) {
        return on_demand.work_time(samples, plan, plan.workers_max);
    };
    constexpr Duration longest_wait = days(365);  // so that sums of it stay in their range
    DeadlineView result;
    result.elapsed = seen.earlier + seen.now.since_start();
    result.limit = seen.deadline.since_start();
    if (seen.deadline < Instant::never()) result.limit = seen.earlier + result.limit;
    result.remaining = seen.deadline - seen.now;
    result.work_total = work(seen.samples_total);
    result.work_left = work(std::max<std::int64_t>(0, seen.samples_total - seen.samples_done));
    result.work_at_risk =
        seen.samples_safe == seen.samples_done
            ? result.work_left
            : work(std::max<std::int64_t>(0, seen.samples_total - seen.samples_safe));
    result.overhead = view.predictor.transition_time(Plan{}, plan) +
                      view.predictor.restore_time(plan) + view.predictor.checkpoint_time(plan);
    // Wherever the model has to be brought.
    Duration longest_move;
    for (const ZoneView& zone : seen.zones) longest_move = std::max(longest_move, zone.move_time);
    result.overhead += std::min(longest_move, longest_wait);
    result.tick = seen.decision_interval;
    // A loss tears the step in progress, and with a clock may wait for a tick to be noticed. Work
    // without steps (one a nanosecond) that is never lost is as in the published rule where all
    // changes of capacity fall on ticks, as they do there.
    // What a loss left of the group may be in the midst of a longer step. Machines are asked for at
    // the end of a step, and have their turn at the end of another one: what is done meanwhile may
    // be lost with what was not saved before.
    const auto step_at = [&](const Predictor& speed) {
        return std::max(speed.work_time(1, plan, plan.workers_max),
                        speed.work_time(1, plan, seen.workers_min));
    };
    const bool has_steps = step_at(view.predictor) > nanoseconds(1);
    const Duration step =
        std::min(step_at(group_speed < on_demand_speed ? group : on_demand), longest_wait);
    if (has_steps) result.overhead += (view.predictor.loses_work() ? 2 : 1) * step;
    if (has_steps || view.predictor.loses_work() || seen.losses_between_ticks) {
        result.overhead += std::min(seen.decision_interval, longest_wait);
    }
    // Machines that are announced to be lost are still there.
    const std::int32_t spot = std::max(spot_within_reach(view), seen.spot_held);
    result.spot_available = spot >= seen.workers_min;
    result.spot_keeps_pace =
        spot >= plan.workers_max ||
        (result.spot_available && group.work_time(seen.samples_total, plan, spot) <= result.limit);
    result.pace = pace_of(view, plan, group, result.work_total);
    result.slower = group_speed < on_demand_speed;
    if (seen.spot_held >= seen.workers_min) {
        result.held = Market::spot;
    } else if (seen.on_demand_held >= seen.workers_min) {
        result.held = Market::on_demand;
    }
    const auto announced = static_cast<std::int32_t>(seen.notices.size());
    result.leaving = result.held == Market::spot && seen.spot_held - announced < seen.workers_min;
    result.full_speed = seen.workers >= plan.workers_max;
    // On-demand is not taken away, and the world saves before a planned change back to spot; until
    // that is done the machine stays. What the save takes is in the overhead.
    const bool on_demand_trains = result.held == Market::on_demand && result.full_speed;
    if (on_demand_trains || on_demand_has_model) result.work_at_risk = result.work_left;
    result.loses_work = view.predictor.loses_work();
    result.leaves_on_demand =
        result.loses_work && on_demand_has_model && result.held == Market::spot;
    result.in_transition = seen.transition_remaining > Duration{};
    return result;
}

}  // namespace

std::int32_t spot_within_reach(const PolicyView& view) {
    std::int32_t capacity = 0;
    const FleetLine* before = nullptr;
    for (const FleetLine& line : view.plan.fleet) {
        const bool counted = before != nullptr && before->zone == line.zone;  // in another market
        before = &line;
        if (counted) continue;
        const auto zone = std::ranges::find(view.seen.zones, line.zone, &ZoneView::zone);
        if (zone == view.seen.zones.end()) return view.seen.spot_capacity;
        capacity += zone->spot_capacity;
    }
    return capacity;
}

DeadlineView deadline_view(const PolicyView& view) {
    return view_under(view, view.plan, on_demand_alone(view.seen, view.plan));
}

DeadlineView DeadlineWatch::look(const PolicyView& view) {
    const Observation& seen = view.seen;
    // Spot that came beside a whole group on on-demand is no member of it before on-demand has
    // gone.
    const bool still = on_demand_has_model_ && seen.on_demand_held >= view.plan.workers_max &&
                       trains_or_saves(seen);
    on_demand_has_model_ = still || on_demand_alone(seen, view.plan);
    least_interval_ = std::min(least_interval_, view.plan.checkpoint_interval);
    if (least_interval_ == view.plan.checkpoint_interval) {
        return view_under(view, view.plan, on_demand_has_model_);
    }
    Plan plan = view.plan;
    plan.checkpoint_interval = least_interval_;
    return view_under(view, plan, on_demand_has_model_);
}

std::optional<Market> safety_net(SafetyNet kind, const DeadlineView& view) {
    const bool strong = kind == SafetyNet::strong;
    if (strong && view.work_left <= Duration{}) return std::nullopt;
    const Duration needed = round_up_to(view.work_at_risk + view.overhead, view.tick);
    const Duration left = strong ? round_down_to(view.remaining, view.tick) : view.remaining;
    if (needed < left) return std::nullopt;
    // A held spot instance may be ridden to the end if a loss still leaves time to change over:
    // not where its next step could be lost, and not once the strong net finds itself late. One
    // that is announced to be lost would be given up for another, and that changeover is not free.
    const bool at_risk = view.loses_work;
    // Nor where it is slower than on-demand, by whose speed the time is reckoned.
    const bool too_late =
        strong && (view.in_transition || !view.full_speed || view.leaving || needed > left);
    const bool rides_spot = !at_risk && !view.slower;
    if (view.held == Market::spot && rides_spot && !too_late) return Market::spot;
    if (!strong && view.overhead == Duration{} && view.spot_available && rides_spot) {
        return Market::spot;
    }
    return Market::on_demand;
}

bool bears_a_change(const DeadlineView& view, std::int64_t changes) {
    return round_up_to(view.work_at_risk + (changes + 1) * view.overhead, view.tick) <
           round_down_to(view.remaining, view.tick);
}

std::vector<ZoneView> zones_in_time(const PolicyView& view) {
    const std::int32_t present = on_demand_speed_per_mille(view);
    std::vector<ZoneView> zones = view.seen.zones;
    std::erase_if(zones, [&](const ZoneView& zone) {
        if (zone.speed_per_mille >= present) return false;
        PolicyView there = view;
        there.on_demand_speed_per_mille = std::max(zone.speed_per_mille, 1);
        return !bears_a_change(deadline_view(there));
    });
    return zones.empty() ? view.seen.zones : zones;
}

std::optional<Duration> sooner_of(std::optional<Duration> one, std::optional<Duration> other) {
    return one && other ? std::min(*one, *other) : one ? one : other;
}

std::optional<Duration> in_seconds(double in_s) {
    if (!(in_s >= 0) || in_s > 1e9) return std::nullopt;
    return seconds(in_s) + milliseconds(1);
}

std::optional<Duration> safety_net_due(const DeadlineView& view) {
    if (view.tick > Duration{}) return std::nullopt;
    // On spot the slack of a job that can lose work shrinks from one checkpoint to the next; asked
    // when a little of it is used up, on-demand would be asked about for ever.
    const bool keeps_work = !view.loses_work || view.held == Market::on_demand;
    const bool trains_whole =
        view.held != Market::none && view.full_speed && !view.in_transition && keeps_work;
    // An event will come before the slack shrinks.
    if (trains_whole && !view.slower) return std::nullopt;
    const Duration slack = view.remaining - view.work_at_risk - view.overhead;
    if (slack <= Duration{}) return std::nullopt;
    // Where the zone is slower than on-demand would be, only what it lacks of the pace is used up.
    if (trains_whole && view.pace > 0 && view.pace < 1) {
        return std::max(slack, in_seconds(to_seconds(slack) / (1 - view.pace)).value_or(slack) -
                                   milliseconds(1));
    }
    return slack;
}

}  // namespace ukemi::policies
