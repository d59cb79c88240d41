// uniform_progress.cpp — keeps the job on the straight line from start to deadline.
//
// Wu et al., NSDI'24, §4.3: with cp(t) the progress made and ep(t) = t·C(0)/R(0) the progress
// expected, (1) idle and behind: on-demand; (2) take spot whenever it is there; (3) hysteresis: on
// on-demand, stay until cp(t) ≥ ep(t + 2d); and the safety net, one changeover early when idle.
// rc_threshold is the same without (3). The authors' simulators ask every ten minutes; asked by
// events, a job that is level with the line would leave on-demand and come back to it without end,
// the sooner the cheaper a changeover is. So where no clock ticks rc_threshold gets ahead of the
// line by `least_ahead` of work before it waits again.
//
// A job that can grow and shrink is there in parts. «Spot is there» then means as much spot as
// keeps to the line by itself; with less, a job that is behind goes to on-demand, and one that is
// ahead trains on what there is instead of idling. Where a zone policy then buys spot in another
// zone than the Plan's, with too little of it, such spot does not count until some zone carries
// more or less: or the job would go to and fro between that zone and on-demand.
#include <memory>
#include <optional>
#include <vector>

#include "base/bounded_duration.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/market_rule.hpp"
#include "policies/market/safety_net_choice.hpp"

namespace ukemi::policies {

namespace {

class UniformProgress final : public MarketRule {
public:
    // With hysteresis, on-demand is left for spot alone and `least_ahead` says nothing.
    UniformProgress(std::string_view name, bool hysteresis, Duration least_ahead, SafetyNet net)
        : name_(name), hysteresis_(hysteresis), least_ahead_(least_ahead), net_(net) {}
    std::string_view name() const override { return name_; }

private:
    Decision choose(const PolicyView& view) override {
        DeadlineView now = watch_.look(view);
        const std::vector<std::int32_t> capacities = capacities_in(view.seen);
        const bool short_of_pace = !now.spot_keeps_pace;
        if (now.held != Market::spot && capacities == fell_short_) now.spot_keeps_pace = false;
        Decision decision = rule(now);
        decision.ask_again_in = ask_again(now);
        if (decision.market == Market::spot) {
            took_spot_ = capacities;
        } else if (decision.market == Market::on_demand) {
            const bool on_spot = fleet_market(view.plan) == Market::spot;
            if (on_spot && short_of_pace && capacities == took_spot_) fell_short_ = capacities;
        }
        return decision;
    }

    static std::vector<std::int32_t> capacities_in(const Observation& seen) {
        std::vector<std::int32_t> capacities;
        for (const ZoneView& zone : seen.zones) capacities.push_back(zone.spot_capacity);
        return capacities;
    }

    Decision rule(const DeadlineView& now) {
        if (now.work_left <= Duration{}) return buy(Market::none, "done");
        if (const auto insisted = net_.insists(now)) return buy(*insisted, "safety net");
        if (now.held != Market::spot && !bears_a_change(now)) {
            return buy(Market::on_demand, "no time for another changeover");
        }
        if (hysteresis_ && now.held == Market::on_demand &&
            (!now.spot_keeps_pace || now.level_or_behind(2 * now.overhead))) {
            return buy(Market::on_demand, "stay until ahead");
        }
        if (now.spot_keeps_pace) return buy(Market::spot, "spot is there");
        if (now.behind(Duration{})) return buy(Market::on_demand, "behind");
        const bool by_events = now.tick <= Duration{};
        if (by_events && now.held == Market::on_demand && !now.ahead_by(least_ahead_)) {
            return buy(Market::on_demand, "not far ahead yet");
        }
        if (now.spot_available) return buy(Market::spot, "ahead: the spot that is there");
        return buy(Market::none, "ahead: wait for spot");
    }

    // Without a tick: when the line catches up with an idle job or one on a part of its spot, when
    // a job on on-demand has run ahead of it, or when the net is due; whichever comes first.
    std::optional<Duration> ask_again(const DeadlineView& now) const {
        if (now.tick > Duration{} || now.work_left <= Duration{}) return std::nullopt;
        std::optional<Duration> due = safety_net_due(now);
        const auto sooner = [&](std::optional<Duration> in) { due = sooner_of(due, in); };
        const double slope = now.work_total / now.limit;
        const double done_s = to_seconds(now.done());
        const double elapsed_s = to_seconds(now.elapsed);
        if (now.held == Market::none) sooner(in_seconds(done_s / slope - elapsed_s));
        if (now.held == Market::spot && !now.spot_keeps_pace) {
            sooner(now.meets_line_in(Duration{}));
        }
        // On-demand at full speed keeps its distance to the net.
        const bool falls_behind =
            now.held == Market::none || now.in_transition || !now.full_speed || now.slower;
        if (now.held != Market::spot && falls_behind) {
            sooner(in_seconds(to_seconds(now.remaining - now.work_at_risk - 2 * now.overhead)));
        }
        if (now.held == Market::on_demand && slope < 1) {
            const double target_s = hysteresis_ ? (elapsed_s + 2 * to_seconds(now.overhead)) * slope
                                                : elapsed_s * slope + to_seconds(least_ahead_);
            sooner(in_seconds((target_s - done_s) / (1 - slope)));
        }
        return due;
    }

    std::string_view name_;
    bool hysteresis_;
    Duration least_ahead_;
    DeadlineWatch watch_;
    LatchingNet net_;
    // What the zones carried when spot was last chosen, and when the spot that was then bought did
    // not keep pace.
    std::optional<std::vector<std::int32_t>> took_spot_;
    std::optional<std::vector<std::int32_t>> fell_short_;
};

}  // namespace

std::unique_ptr<Policy> make_uniform_progress(ConfigReader& parameters) {
    return std::make_unique<UniformProgress>("uniform_progress", true, Duration{},
                                             read_safety_net(parameters));
}

std::unique_ptr<Policy> make_rc_threshold(ConfigReader& parameters) {
    const Duration least_ahead =
        bounded_duration(parameters, "least_ahead", whole_seconds(1), days(365), minutes(10));
    return std::make_unique<UniformProgress>("rc_threshold", false, least_ahead,
                                             read_safety_net(parameters));
}

}  // namespace ukemi::policies
