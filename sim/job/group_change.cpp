// group_change.cpp — the model's way to a group, and the phases of a change.
#include "sim/job/group_change.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace ukemi::sim {

std::optional<ZoneId> place_of_model(std::span<const Instance> fleet) {
    const auto holder = std::ranges::find_if(fleet, &Instance::has_state);
    return holder == fleet.end() ? std::nullopt : std::optional(holder->zone);
}

Move move_to(const MarketData& market, std::span<const Instance> fleet,
             std::optional<ZoneId> kept_at, ZoneId to) {
    if (market.transfer.rows.empty()) return {};
    std::optional<Move> best;
    const auto consider = [&](ZoneId from) {
        const Move move = move_between(market, from, to);
        const bool better =
            !best || std::tie(move.cost, move.time) < std::tie(best->cost, best->time);
        if (better) best = move;
    };
    for (const Instance& one : fleet) {
        if (one.has_state) consider(one.zone);
    }
    if (!best && kept_at) consider(*kept_at);
    return best.value_or(Move{});
}

Move move_of(const MarketData& market, std::span<const Instance> fleet,
             std::optional<ZoneId> kept_at, std::span<Instance* const> group) {
    Move sum;
    if (market.transfer.rows.empty()) return sum;
    std::vector<ZoneId> reached;
    for (const Instance* one : group) {
        const bool there = std::ranges::any_of(
            reached, [&](ZoneId zone) { return move_between(market, zone, one->zone) == Move{}; });
        if (there) continue;
        reached.push_back(one->zone);
        const Move move = move_to(market, fleet, kept_at, one->zone);
        sum.cost += move.cost;
        sum.time = std::max(sum.time, move.time);
    }
    return sum;
}

std::int32_t speed_there(const MarketData& market, const Instance& instance) {
    constexpr std::int64_t most = 1'000'000'000;
    const ZoneData& zone = market.zones[ukemi::index_of(instance.zone)];
    const std::int64_t speed = std::int64_t{zone.speed_per_mille} * instance.speed_per_mille / 1000;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(speed, 1, most));
}

records::PhaseTimes formation_times(const TransitionCosts& costs,
                                    const policies::JobProfile& profile,
                                    const Formation& formation) {
    const bool all_have_it = formation.holders >= formation.workers;
    const GroupChange change = !formation.survivors ? GroupChange::start
                               : all_have_it        ? GroupChange::shrink
                                                    : GroupChange::grow;
    records::PhaseTimes times = phase_times(costs, change, formation.workers, formation.holders);
    const bool restores = !formation.survivors && formation.from_checkpoint && !profile.lossless;
    Duration& transfer = times[static_cast<std::size_t>(policies::TransitionPhase::transfer)];
    if (restores) transfer += profile.restore;
    transfer += formation.move_time;
    return times;
}

void PhaseMeter::add(policies::TransitionPhase phase, Duration standstill, Duration instance_time) {
    records::PhaseCost& cost = records::cost_of(costs_, phase);
    ++cost.count;
    cost.standstill += standstill;
    cost.instance_time += instance_time;
}

void PhaseMeter::drain_began(std::int32_t workers, Instant now) {
    drain_since_ = now;
    drain_workers_ = workers;
}

void PhaseMeter::drain_ended(Instant now) {
    if (!drain_since_) return;
    const Duration time = now - *drain_since_;
    drain_since_.reset();
    add(policies::TransitionPhase::drain, time, std::int64_t{drain_workers_} * time);
}

void PhaseMeter::spawn_ended(const Instance& instance, Instant now) {
    add(policies::TransitionPhase::spawn, Duration{}, now - instance.spawning_since);
}

void PhaseMeter::notice_ended(const Instance& instance, Duration notice, Instant now) {
    const Duration before = std::min(notice, instance.lost_at->since_start());
    const Instant announced_at = std::max(instance.opened, *instance.lost_at - before);
    add(policies::TransitionPhase::notice, Duration{}, now - announced_at);
}

records::PhaseCosts PhaseMeter::with(const records::PhaseCosts& of_transitions) const {
    records::PhaseCosts sum = of_transitions;
    for (std::size_t phase = 0; phase < sum.size(); ++phase) {
        sum[phase].count += costs_[phase].count;
        sum[phase].standstill += costs_[phase].standstill;
        sum[phase].instance_time += costs_[phase].instance_time;
    }
    return sum;
}

}  // namespace ukemi::sim
