// follow_capacity.cpp — an elastic fleet: as many instances as the zones will carry.
//
// What is held stays where its zone still carries it; what is missing is asked for in the cheapest
// zones. Turns zone and count and leaves the market to others, so it combines with greedy or
// spot_only. The fleet never falls below what the job needs to train: a shortfall stays as a
// standing request in the cheapest zone, to be filled when capacity comes.
#include <algorithm>
#include <memory>
#include <tuple>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi {

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
        const bool limited = fleet_market(view.plan) != Market::on_demand;
        zones_ = seen.zones;
        std::ranges::sort(zones_, {}, [](const ZoneView& zone) {
            return std::tuple(zone.spot_price, index_of(zone.zone));
        });
        counts_.clear();
        std::int32_t placed = 0;
        for (const ZoneView& zone : zones_) {  // what is planned stays where there is room for it
            const std::int32_t room = limited ? zone.spot_capacity : wanted;
            const std::int32_t here =
                std::min({planned(view.plan, zone.zone), room, wanted - placed});
            counts_.push_back({zone.zone, std::max(here, 0)});
            placed += counts_.back().count;
        }
        for (std::size_t i = 0; i < zones_.size(); ++i) {  // the rest goes where it is cheapest
            const std::int32_t room = limited ? zones_[i].spot_capacity : wanted;
            const std::int32_t more = std::min(room - counts_[i].count, wanted - placed);
            if (more <= 0) continue;
            counts_[i].count += more;
            placed += more;
        }
        if (placed < seen.workers_min) counts_.front().count += seen.workers_min - placed;
        std::erase_if(counts_, [](const ZoneCount& zone) { return zone.count == 0; });
        std::ranges::sort(counts_, {}, [](const ZoneCount& c) { return index_of(c.zone); });
        Decision decision;
        if (counts_ == counts_of(view.plan)) return decision;
        decision.zone_counts = counts_;
        decision.reason = "capacity changed";
        return decision;
    }

    static std::int32_t planned(const Plan& plan, ZoneId zone) {
        const auto line = std::ranges::find(plan.fleet, zone, &FleetLine::zone);
        return line == plan.fleet.end() ? 0 : line->count;
    }

    const std::vector<ZoneCount>& counts_of(const Plan& plan) {
        planned_.clear();
        for (const FleetLine& line : plan.fleet) planned_.push_back({line.zone, line.count});
        return planned_;
    }

    std::vector<ZoneView> zones_;  // kept between calls for their memory alone
    std::vector<ZoneCount> counts_;
    std::vector<ZoneCount> planned_;
};

}  // namespace

std::unique_ptr<Policy> make_follow_capacity(ConfigReader&) {
    return std::make_unique<FollowCapacity>();
}

}  // namespace ukemi
