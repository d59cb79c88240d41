// fleet_progress.cpp — keeps a fleet that may be there in parts to the line from start to deadline.
//
// Uniform progress (Wu et al., NSDI'24, §4.3) for jobs that grow and shrink: all the spot there is,
// and beside it, while the job is behind the line, as many on-demand machines as finish the work
// two changeovers before the deadline. The job counts as behind until it is two changeovers ahead
// (the hysteresis of uniform progress; without a clock a minute at least). Once the safety net
// insists, the whole fleet is on-demand.
//
// A loss stops the whole group, on-demand and all. So the policy measures which share of its pace
// a fleet with spot makes, and fills up only where that costs less than taking turns: spot alone,
// and the whole fleet on-demand for the rest, which is what greedy does.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/pools.hpp"
#include "policies/market/safety_net_choice.hpp"
#include "policies/market/zone_speed.hpp"

namespace ukemi::policies {

namespace {

// How much of the pace that its machines promise a fleet with spot has made so far: losses cost it
// the rest.
class SpotEfficiency {
public:
    void look(const PolicyView& view) {
        const Observation& seen = view.seen;
        if (spot_was_held_ && seen.now > looked_at_) {
            promised_ += static_cast<double>((seen.now - looked_at_).raw()) /
                         static_cast<double>(time_of_a_sample_);
            made_ += static_cast<double>(seen.samples_done - done_);
        }
        const std::int32_t held =
            std::min(seen.spot_held + seen.on_demand_held, view.plan.workers_max);
        spot_was_held_ = seen.spot_held > 0 && held >= seen.workers_min;
        looked_at_ = seen.now;
        done_ = seen.samples_done;
        if (!spot_was_held_) return;
        const Duration whole = view.predictor.work_time(seen.samples_total, view.plan, held);
        time_of_a_sample_ =
            static_cast<double>(whole.raw()) / static_cast<double>(seen.samples_total);
    }
    double share() const { return promised_ > 0 ? std::clamp(made_ / promised_, 0.01, 1.0) : 1; }

private:
    bool spot_was_held_ = false;
    Instant looked_at_;
    std::int64_t done_ = 0;
    double time_of_a_sample_ = 1;  // ns, of the machines that were held then
    double promised_ = 0;          // samples
    double made_ = 0;
};

class FleetProgress final : public Policy {
public:
    explicit FleetProgress(SafetyNet net) : net_(net) {}
    std::string_view name() const override { return "fleet_progress"; }
    KnobSet knobs() const override { return {Knob::zone, Knob::market, Knob::count}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override { return choose(view); }
    Decision on_event(EventKind, const PolicyView& view) override { return choose(view); }

private:
    Decision choose(const PolicyView& view) {
        const DeadlineView now = watch_.look(view);
        Decision decision;
        if (now.work_left <= Duration{} || view.seen.zones.empty()) return decision;
        const PredictorAtSpeed predictor(view.predictor, on_demand_speed_per_mille(view));
        const PolicyView at_speed{view.seen, view.plan, predictor, view.oracle, view.random};
        efficiency_.look(at_speed);
        decision.reason = follow_line(at_speed, now);
        decision.market_counts = counts_with(view, on_demand_);
        decision.ask_again_in = ask_again(now);
        return decision;
    }

    std::string_view follow_line(const PolicyView& view, const DeadlineView& now) {
        if (net_.insists(now) == Market::on_demand) {
            on_demand_ = view.plan.workers_max;
            return "safety net";
        }
        const bool all_spot = now.full_speed && !now.leaving && view.seen.on_demand_held == 0;
        if (!all_spot && !bears_a_change(now)) {
            on_demand_ = view.plan.workers_max;
            return "no time for another changeover";
        }
        behind_ = now.behind(Duration{}) || (behind_ && now.level_or_behind(far_ahead(now)));
        // Filling up is a change, which waits for one that is under way, and the spot of it may be
        // lost the moment after.
        const std::int64_t changes = now.in_transition ? 3 : 2;
        const bool may_fill = behind_ && (on_demand_ > 0 || bears_a_change(now, changes));
        const std::int32_t wanted = may_fill ? filling(view, now) : 0;
        // Machines are not given back for a little more spot: each change of the group costs.
        const bool about_as_many = wanted <= on_demand_ && 4 * wanted >= 3 * on_demand_;
        if (wanted == 0 || !about_as_many) on_demand_ = wanted;
        return on_demand_ > 0 ? "behind: on-demand fills up" : "spot alone";
    }

    // On-demand machines beside the spot that is there, if that is cheaper than taking turns later.
    std::int32_t filling(const PolicyView& view, const DeadlineView& now) const {
        const std::int32_t size = view.plan.workers_max;
        const std::int32_t spot = std::min(spot_in_all(view.seen), size);
        const double time_s = to_seconds(now.remaining - 2 * now.overhead);
        const double share = efficiency_.share();
        const std::int32_t lacking = std::max(machines_needed(view, share * time_s) - spot, 0);
        double spot_pace = 0;  // 1: that of the whole fleet
        double spot_usd_per_hour = 0;
        if (spot >= view.seen.workers_min) {
            spot_pace = share * (now.work_total / view.predictor.work_time(view.seen.samples_total,
                                                                           view.plan, spot));
            spot_usd_per_hour = usd_per_hour(view, 0);
        }
        if (spot_pace >= 1) return 0;
        const double work_s = to_seconds(now.work_left);
        const double whole_s = std::max((work_s - spot_pace * time_s) / (1 - spot_pace), 0.0);
        const double turns =
            (time_s - whole_s) * spot_usd_per_hour + whole_s * usd_per_hour(view, size);
        const std::int64_t left = view.seen.samples_total - view.seen.samples_done;
        const Duration filled_up =
            view.predictor.work_time(left, view.plan, std::min(spot + lacking, size));
        const double filled =
            std::min(to_seconds(filled_up) / share, time_s) * usd_per_hour(view, lacking);
        constexpr double rounding = 1e-9;  // what costs the same is better bought later
        return filled < turns * (1 - rounding) ? lacking : 0;
    }

    static std::int32_t spot_in_all(const Observation& seen) {
        std::int32_t sum = 0;
        for (const ZoneView& zone : seen.zones) sum += zone.spot_capacity;
        return sum;
    }

    // The fewest that finish what is left in this time; all if none do.
    static std::int32_t machines_needed(const PolicyView& view, double time_s) {
        const std::int64_t left = view.seen.samples_total - view.seen.samples_done;
        std::int32_t too_few = view.seen.workers_min - 1;
        std::int32_t enough = view.plan.workers_max;
        while (enough - too_few > 1) {
            const std::int32_t middle = too_few + (enough - too_few) / 2;
            const Duration needed = view.predictor.work_time(left, view.plan, middle);
            (to_seconds(needed) <= time_s ? enough : too_few) = middle;
        }
        return enough;
    }

    // On-demand where it is cheapest, and as much spot beside it as there is.
    static std::vector<MarketCount> counts_with(const PolicyView& view, std::int32_t on_demand) {
        std::vector<MarketCount> counts;
        const auto buy = [&](Market market, std::int32_t least, std::int32_t most) {
            if (most == 0) return;
            for (const auto& [zone, count] :
                 filled_zones(view.plan, market, least, most, view.seen.zones, view.seen)) {
                counts.push_back({zone, market, count});
            }
        };
        const std::int32_t size = view.plan.workers_max;
        buy(Market::spot, view.seen.workers_min - on_demand, size - on_demand);
        buy(Market::on_demand, on_demand, on_demand);
        return counts;
    }

    static double usd_per_hour(const PolicyView& view, std::int32_t on_demand) {
        double sum = 0;
        for (const MarketCount& one : counts_with(view, on_demand)) {
            const auto zone = std::ranges::find(view.seen.zones, one.zone, &ZoneView::zone);
            sum += one.count * to_dollars_per_hour(pool_price(*zone, one.market, view.seen));
        }
        return sum;
    }

    // Without a tick: when what is done meets the line, or the net is due; whichever comes first.
    std::optional<Duration> ask_again(const DeadlineView& now) const {
        if (now.tick > Duration{}) return std::nullopt;
        return sooner_of(safety_net_due(now),
                         now.meets_line_in(behind_ ? far_ahead(now) : Duration{}));
    }

    // From when on a job that was behind is so no more. Without a clock changes that are free would
    // otherwise come one after the other, on the line itself.
    static Duration far_ahead(const DeadlineView& now) {
        const Duration least = now.tick > Duration{} ? Duration{} : minutes(1);
        return std::max(2 * now.overhead, least);
    }

    DeadlineWatch watch_;
    LatchingNet net_;
    SpotEfficiency efficiency_;
    bool behind_ = false;
    std::int32_t on_demand_ = 0;  // machines wanted beside spot
};

}  // namespace

std::unique_ptr<Policy> make_fleet_progress(ConfigReader& parameters) {
    return std::make_unique<FleetProgress>(read_safety_net(parameters));
}

}  // namespace ukemi::policies
