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
#include "policies/market/deadline_view.hpp"
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
    static Decision fill(const PolicyView& view) {
        const Observation& seen = view.seen;
        if (seen.zones.empty()) return {};  // a world that shows no zones has nothing to follow
        const auto counts = filled_zones(view.plan, fleet_market(view.plan), seen.workers_min,
                                         view.plan.workers_max, zones_in_time(view), seen);
        Decision decision;
        if (already_planned(view.plan, counts)) return decision;
        decision.zone_counts = counts;
        decision.reason = "capacity changed";
        return decision;
    }
};

}  // namespace

std::unique_ptr<Policy> make_follow_capacity(ConfigReader&) {
    return std::make_unique<FollowCapacity>();
}

}  // namespace ukemi::policies
