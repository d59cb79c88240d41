// cheapest_zone.cpp — the whole fleet in the one zone where a unit of work costs least.
//
// The zone with the least cost of the work of the next `holding_time`: machines × price × time at
// its speed, and for a zone that holds nothing of ours also the restart and what bringing the model
// there takes (move_time) and costs (move_cost, egress). The fleet stays where it is until that
// saves more than `least_saving` of the cost, and once the deadline does not bear a move. The price
// is that of the market of the plan, spot until one is chosen. A zone that cannot carry the job's
// minimum is no choice, and one that carries less than the whole fleet gets as many as it carries.
// Bidding by cost per unit of work is Proteus' measure (Harlap et al., EuroSys'17: BidBrain
// minimises E[cost] / E[work]), here without its probability of eviction.
#include <algorithm>
#include <memory>

#include "policies/market/deadline_view.hpp"
#include "policies/market/pools.hpp"

namespace ukemi::policies {

namespace {

class CheapestZone final : public Policy {
public:
    explicit CheapestZone(StayRule stay) : stay_(stay) {}
    std::string_view name() const override { return "cheapest_zone"; }
    KnobSet knobs() const override { return {Knob::zone, Knob::count}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override { return choose(view); }
    Decision on_event(EventKind, const PolicyView& view) override { return choose(view); }

private:
    Decision choose(const PolicyView& view) const {
        const Observation& seen = view.seen;
        const Plan& plan = view.plan;
        StayTerms terms;
        terms.market = fleet_market(plan);
        terms.machines = std::max(plan.workers_max, seen.workers_min);
        const bool in_place = is_placed(plan, terms.machines, seen);
        if (in_place && !bears_a_change(deadline_view(view))) return {};
        const std::int64_t left = std::max<std::int64_t>(0, seen.samples_total - seen.samples_done);
        terms.work =
            std::min(stay_.holding_time, view.predictor.work_time(left, plan, plan.workers_max));
        terms.restart =
            view.predictor.transition_time(Plan{}, plan) + view.predictor.restore_time(plan);
        const std::vector<ZoneView> zones = zones_in_time(view);
        const ZoneView* best = cheapest_stay(zones, terms, seen, seen.workers_min, main_zone(plan),
                                             stay_.least_saving);
        Decision decision;
        if (best == nullptr) return decision;  // nobody can carry the job: what is asked for stands
        const ZoneCount one{best->zone, pool_room(*best, terms.market, terms.machines)};
        if (already_planned(plan, {&one, 1})) return decision;
        decision.zone_counts.emplace(1, one);
        decision.reason = best->zone == main_zone(plan) ? "capacity changed" : "work is cheaper";
        return decision;
    }

    StayRule stay_;
};

}  // namespace

std::unique_ptr<Policy> make_cheapest_zone(ConfigReader& parameters) {
    return std::make_unique<CheapestZone>(read_stay_rule(parameters));
}

}  // namespace ukemi::policies
