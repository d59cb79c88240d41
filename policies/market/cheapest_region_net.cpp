// cheapest_region_net.cpp — a deadline policy for one live gang over several regions.
//
// When to use spot, on-demand or nothing is decided by a rule for one place (greedy, time_sliced,
// uniform_progress or rc_threshold); where, by cost, in the sense of SkyNomad (multi-region
// «Can't Be Late»): spot in the region where the work of the next `holding_time` is cheapest among
// those that carry the job, and when the safety net catches, on-demand in the region with the least
// on-demand price × (remaining work + time of the move) + egress. A job that trains on spot leaves
// its region only if that saves more than `least_saving` of the cost, restart and egress included,
// and only while the slack bears another changeover; one that holds on-demand stays where it is.
// The changeover d of a deadline rule holds the longest move between regions (deadline_view.hpp),
// and work left is taken at the speed of the region that on-demand would be bought in, so that the
// net holds wherever the model is. With one zone it is the rule itself.
#include <algorithm>
#include <array>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/pools.hpp"

namespace ukemi::policies {

std::unique_ptr<Policy> make_greedy(ConfigReader& parameters);
std::unique_ptr<Policy> make_time_sliced(ConfigReader& parameters);
std::unique_ptr<Policy> make_uniform_progress(ConfigReader& parameters);
std::unique_ptr<Policy> make_rc_threshold(ConfigReader& parameters);

namespace {

class CheapestRegionNet final : public Policy {
public:
    CheapestRegionNet(std::unique_ptr<Policy> rule, StayRule stay)
        : rule_(std::move(rule)), stay_(stay) {}
    std::string_view name() const override { return "cheapest_region_net"; }
    KnobSet knobs() const override { return {Knob::zone, Knob::market, Knob::count}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override {
        return choose(view, [&](const PolicyView& there) { return rule_->before_train(there); });
    }
    Decision on_event(EventKind kind, const PolicyView& view) override {
        return choose(view, [&](const PolicyView& there) { return rule_->on_event(kind, there); });
    }

private:
    template <class Ask>
    Decision choose(const PolicyView& view, const Ask& ask) {
        const Observation& seen = view.seen;
        if (seen.zones.size() < 2) return ask(view);
        const ZoneView& refuge = on_demand_region(view);
        const std::int32_t speed = std::max(refuge.speed_per_mille, 1);
        const ZoneView* spot = spot_region(about(view, view.plan, speed), restart_of(view));
        const Plan there = plan_in(spot != nullptr ? spot->zone : main_zone(view.plan), view);
        Decision decision = ask(about(view, there, speed));
        const Market market = decision.market.value_or(Market::none);
        if (market == Market::none || (market == Market::spot && spot == nullptr)) return decision;
        const ZoneView& chosen = market == Market::spot ? *spot : refuge;
        const ZoneCount one{chosen.zone, pool_room(chosen, market, machines(view))};
        if (!already_planned(view.plan, {&one, 1})) decision.zone_counts.emplace(1, one);
        return decision;
    }

    // The same with that Plan and with on-demand of that speed.
    static PolicyView about(const PolicyView& view, const Plan& plan, std::int32_t speed) {
        return {.seen = view.seen,
                .plan = plan,
                .predictor = view.predictor,
                .oracle = view.oracle,
                .random = view.random,
                .instances_max = view.instances_max,
                .learners_max = view.learners_max,
                .samples_per_epoch = view.samples_per_epoch,
                .on_demand_speed_per_mille = speed};
    }

    static std::int32_t machines(const PolicyView& view) {
        return std::max(view.plan.workers_max, view.seen.workers_min);
    }
    static Plan plan_in(ZoneId zone, const PolicyView& view) {
        Plan plan = view.plan;
        FleetLine line = plan.fleet.empty() ? FleetLine{} : plan.fleet.front();
        line.zone = zone;
        line.count = machines(view);
        plan.fleet.assign(1, line);
        return plan;
    }

    // Where the net would buy: cheapest for the rest of the work, among the regions that are fast
    // enough to meet the deadline; if none is, among the fastest.
    const ZoneView& on_demand_region(const PolicyView& view) {
        const Observation& seen = view.seen;
        const auto present = std::ranges::find(seen.zones, main_zone(view.plan), &ZoneView::zone);
        if (present != seen.zones.end() && present->on_demand_held >= seen.workers_min) {
            return *present;  // the changeover is behind us
        }
        const std::int32_t fastest =
            std::ranges::max_element(seen.zones, {}, &ZoneView::speed_per_mille)->speed_per_mille;
        const DeadlineView now = deadline_view(about(view, view.plan, profile_speed));
        const double time_s = to_seconds(now.remaining) - to_seconds(now.overhead);
        const double needed_s = to_seconds(now.work_at_risk) * profile_speed;
        StayTerms terms;
        terms.market = Market::on_demand;
        terms.machines = machines(view);
        terms.work = now.work_left;
        const ZoneView* best = nullptr;
        double best_usd = 0;
        for (const ZoneView& zone : seen.zones) {
            const bool in_time = needed_s <= time_s * zone.speed_per_mille;
            if (!in_time && zone.speed_per_mille < fastest) continue;
            const double usd = stay_cost_usd(zone, terms, seen);
            if (best != nullptr && usd >= best_usd) continue;
            best = &zone;
            best_usd = usd;
        }
        return *best;  // the fastest at least
    }

    // Where spot is held: not in the Plan's zone if that asks for on-demand elsewhere, which is
    // still being started.
    static ZoneId spot_zone(const PolicyView& view) {
        const auto held = std::ranges::max_element(view.seen.zones, {}, &ZoneView::spot_held);
        return held != view.seen.zones.end() && held->spot_held > 0 ? held->zone
                                                                    : main_zone(view.plan);
    }

    // Without a move, which cheapest_stay counts by zone.
    static Duration restart_of(const PolicyView& view) {
        return view.predictor.transition_time(Plan{}, view.plan) +
               view.predictor.restore_time(view.plan);
    }

    const ZoneView* spot_region(const PolicyView& view, Duration restart) const {
        const Observation& seen = view.seen;
        const DeadlineView now = deadline_view(view);
        StayTerms terms;
        terms.market = Market::spot;
        terms.machines = machines(view);
        terms.work = std::min(stay_.holding_time, now.work_left);
        terms.restart = restart;
        const bool trains = now.held == Market::spot;
        const ZoneId present = trains ? spot_zone(view) : main_zone(view.plan);
        const double slack_s =
            to_seconds(now.remaining) - to_seconds(now.work_at_risk) - to_seconds(now.overhead);
        if (trains && slack_s < to_seconds(now.overhead)) {  // no time to move of our own accord
            const auto here = std::ranges::find(seen.zones, present, &ZoneView::zone);
            if (here != seen.zones.end() && here->spot_capacity >= seen.workers_min) return &*here;
        }
        return cheapest_stay(seen.zones, terms, seen, seen.workers_min, present,
                             trains ? stay_.least_saving : 0);
    }

    static constexpr std::int32_t profile_speed = 1000;  // per mille

    std::unique_ptr<Policy> rule_;
    StayRule stay_;
};

}  // namespace

std::unique_ptr<Policy> make_cheapest_region_net(ConfigReader& parameters) {
    static constexpr std::array<std::string_view, 4> names{"greedy", "time_sliced",
                                                           "uniform_progress", "rc_threshold"};
    static constexpr std::array makers{make_greedy, make_time_sliced, make_uniform_progress,
                                       make_rc_threshold};
    const std::string rule = parameters.one_of("rule", names, "uniform_progress");
    const auto index = static_cast<std::size_t>(std::ranges::find(names, rule) - names.begin());
    const StayRule stay = read_stay_rule(parameters);
    return std::make_unique<CheapestRegionNet>(makers.at(index)(parameters), stay);
}

}  // namespace ukemi::policies
