// follow_capacity.cpp — an elastic fleet: as many instances as the zones will carry, cheapest first.
//
// Turns zone and count and leaves the market to others, so it combines with greedy or spot_only.
// The fleet never falls below what the job needs to train: a shortfall stays as a standing request
// in the first zone, to be filled when capacity comes.
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
        zones_ = seen.zones;
        std::ranges::stable_sort(zones_, {}, [](const ZoneView& zone) {
            return std::tuple(zone.spot_price, index_of(zone.zone));
        });
        const bool limited = fleet_market(view.plan) != Market::on_demand;
        counts_.clear();
        std::int32_t placed = 0;
        for (const ZoneView& zone : zones_) {
            const std::int32_t room = limited ? zone.spot_capacity : wanted;
            const std::int32_t here = std::min(room, wanted - placed);
            if (here <= 0) continue;
            counts_.push_back({zone.zone, here});
            placed += here;
        }
        if (placed < seen.workers_min) stand_by(seen.workers_min - placed);
        std::ranges::sort(counts_, {}, [](const ZoneCount& c) { return index_of(c.zone); });
        Decision decision;
        if (counts_ == counts_of(view.plan)) return decision;
        decision.zone_counts = counts_;
        decision.reason = "capacity changed";
        return decision;
    }

    void stand_by(std::int32_t missing) {
        if (counts_.empty()) counts_.push_back({zones_.front().zone, 0});
        counts_.front().count += missing;
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
