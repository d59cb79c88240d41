// follow_capacity.cpp — an elastic fleet: as many instances as the zones will carry.
//
// What is held stays where its zone still carries it; what is missing is asked for where a unit of
// work is cheapest in the market that is bought (spot until one is chosen). Turns zone and count
// and leaves the market to others, so it combines with greedy or spot_only. The fleet never falls
// below what the job needs to train: a shortfall stays as a standing request in the cheapest zone,
// to be filled when capacity comes.
#include <algorithm>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/pools.hpp"

namespace ukemi::policies {

namespace {

class FollowCapacity final : public Policy {
public:
    std::string_view name() const override { return "follow_capacity"; }
    KnobSet knobs() const override { return {Knob::zone, Knob::count}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override { return fill(view); }
    Decision on_event(EventKind, const PolicyView& view) override { return fill(view); }

private:
    Decision fill(const PolicyView& view) {
        const Observation& seen = view.seen;
        if (seen.zones.empty()) return {};  // a world that shows no zones has nothing to follow
        const std::int32_t wanted = view.plan.workers_max;
        const Market market = fleet_market(view.plan);
        zones_ = seen.zones;
        sort_by_cost(zones_, market, seen);
        counts_.clear();
        std::int32_t placed = 0;
        for (const ZoneView& zone : zones_) {  // what is planned stays where there is room for it
            const std::int32_t room = pool_room(zone, market, wanted);
            const std::int32_t here =
                std::min({planned_in(view.plan, zone.zone), room, wanted - placed});
            counts_.push_back({zone.zone, std::max(here, 0)});
            placed += counts_.back().count;
        }
        for (std::size_t i = 0; i < zones_.size(); ++i) {  // the rest goes where it is cheapest
            const std::int32_t room = pool_room(zones_[i], market, wanted);
            const std::int32_t more = std::min(room - counts_[i].count, wanted - placed);
            if (more <= 0) continue;
            counts_[i].count += more;
            placed += more;
        }
        if (placed < seen.workers_min) counts_.front().count += seen.workers_min - placed;
        std::erase_if(counts_, [](const ZoneCount& zone) { return zone.count == 0; });
        std::ranges::sort(counts_, {}, [](const ZoneCount& c) { return index_of(c.zone); });
        Decision decision;
        if (already_planned(view.plan, counts_)) return decision;
        decision.zone_counts = counts_;
        decision.reason = "capacity changed";
        return decision;
    }

    std::vector<ZoneView> zones_;  // kept between calls for their memory alone
    std::vector<ZoneCount> counts_;
};

}  // namespace

std::unique_ptr<Policy> make_follow_capacity(ConfigReader&) {
    return std::make_unique<FollowCapacity>();
}

}  // namespace ukemi::policies
