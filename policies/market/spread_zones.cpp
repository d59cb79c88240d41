// spread_zones.cpp — the fleet evenly over the zones that have capacity, so that one zone's bad
// hour does not take everything.
//
// Losses come in bursts that stay inside a zone, in every recorded market; Bamboo (Thorpe et al.,
// NSDI'23) spreads its pipelines over zones for that reason. What is held or on its way stays where
// there is room for it, up to `share` of the fleet in one zone: machines that train are not given
// up for evenness. What is missing goes to the zones with the fewest, level by level; what is left
// over after the last full level goes, one each, to those where a unit of work is cheapest. Without
// anything held that is an even split by largest remainder. The job's minimum goes before the
// share. Nothing is moved for evenness once the deadline does not bear it. Turns zone and count and
// leaves the market to others.
#include <algorithm>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/pools.hpp"

namespace ukemi::policies {

namespace {

struct Pool {
    ZoneId zone{};
    std::int64_t count = 0;
    std::int64_t most = 0;  // never below count
};

std::int64_t filled_to(const std::vector<Pool>& pools, std::int64_t level) {
    std::int64_t sum = 0;
    for (const Pool& pool : pools) sum += std::clamp(level, pool.count, pool.most);
    return sum;
}

// Adds to the emptiest pools until all of them hold `wanted` together, or as many as they can.
void fill_evenly(std::vector<Pool>& pools, std::int64_t wanted) {
    std::int64_t low = 0;  // the highest level that does not hold too many
    std::int64_t high = wanted + 1;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (filled_to(pools, middle) <= wanted ? low : high) = middle;
    }
    const std::int64_t full = filled_to(pools, low);
    std::int64_t rest = std::max<std::int64_t>(0, wanted - full);
    for (Pool& pool : pools) {
        const bool open = pool.count <= low && pool.most > low;
        pool.count = std::clamp(low, pool.count, pool.most);
        if (!open || rest == 0) continue;
        ++pool.count;
        --rest;
    }
}

class SpreadZones final : public Policy {
public:
    explicit SpreadZones(double share) : share_(share) {}
    std::string_view name() const override { return "spread_zones"; }
    KnobSet knobs() const override { return {Knob::zone, Knob::count}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override { return spread(view); }
    Decision on_event(EventKind, const PolicyView& view) override { return spread(view); }

private:
    Decision spread(const PolicyView& view) const {
        const Observation& seen = view.seen;
        const Plan& plan = view.plan;
        if (seen.zones.empty()) return {};
        const Market market = fleet_market(plan);
        const std::int32_t wanted = std::max(plan.workers_max, seen.workers_min);
        if (is_placed(plan, wanted, seen) && !bears_a_change(deadline_view(view))) return {};
        std::vector<ZoneView> zones = zones_in_time(view);
        // On-demand is there for the asking: where the zones are too few for the share, it gives
        // way.
        const auto zone_count = static_cast<std::int64_t>(zones.size());
        const std::int64_t even = (wanted + zone_count - 1) / zone_count;
        const auto most_in_one = std::max<std::int64_t>(
            market == Market::on_demand ? even : 1,
            static_cast<std::int64_t>(share_ * static_cast<double>(wanted) + 1e-9));
        sort_by_cost(zones, market, seen);
        std::vector<Pool> pools;
        std::int64_t kept = 0;
        for (const ZoneView& zone : zones) {
            const std::int64_t room = pool_room(zone, market, wanted);
            const std::int64_t most = std::clamp<std::int64_t>(most_in_one, 0, room);
            const std::int64_t ours =
                std::int64_t{zone.spot_held} + zone.on_demand_held + zone.pending;
            const std::int64_t here = std::min(
                {std::int64_t{planned_in(plan, zone.zone, market)}, ours, most, wanted - kept});
            pools.push_back({zone.zone, std::max<std::int64_t>(here, 0), most});
            kept += pools.back().count;
        }
        fill_evenly(pools, wanted);
        if (filled_to(pools, 0) < seen.workers_min) make_up(pools, zones, market, seen);
        return wish(pools, plan);
    }

    // The job's minimum: first where there is room beyond the share, then as a standing request
    // where work is cheapest.
    static void make_up(std::vector<Pool>& pools, const std::vector<ZoneView>& zones, Market market,
                        const Observation& seen) {
        for (std::size_t i = 0; i < pools.size(); ++i) {
            const std::int64_t room = pool_room(zones[i], market, seen.workers_min);
            pools[i].most = std::max(pools[i].count, room);
        }
        fill_evenly(pools, seen.workers_min);
        pools.front().count += std::max<std::int64_t>(0, seen.workers_min - filled_to(pools, 0));
    }

    static Decision wish(const std::vector<Pool>& pools, const Plan& plan) {
        std::vector<ZoneCount> counts;
        for (const Pool& pool : pools) {
            if (pool.count > 0)
                counts.push_back({pool.zone, static_cast<std::int32_t>(pool.count)});
        }
        std::ranges::sort(counts, {}, [](const ZoneCount& one) { return index_of(one.zone); });
        Decision decision;
        if (already_planned(plan, counts)) return decision;
        decision.zone_counts = std::move(counts);
        decision.reason = "spread over what has capacity";
        return decision;
    }

    double share_;
};

}  // namespace

std::unique_ptr<Policy> make_spread_zones(ConfigReader& parameters) {
    return std::make_unique<SpreadZones>(parameters.number("share", 0.01, 1, 0.5));
}

}  // namespace ukemi::policies
