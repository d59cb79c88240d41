// time_sliced.cpp — greedy inside each of n slices, each with its share of the work.
//
// Wu et al., NSDI'24, §4.2: the deadline is cut into slices of equal length, each must finish
// C(0)/n, and what a slice gained is averaged over those that remain. The conditions are evaluated
// in double seconds in the order of the authors' simulator, because two of its recorded traces
// take another branch in exact arithmetic. That simulator also counts the last tick of the slice
// before as work of the slice at hand; `overlap_one_tick` does the same. It knows no other net than
// its own conditions, which take a spot machine that is starting, or some of several, for one that
// works: with a clock, "simple" is that.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/bounded_duration.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/market_rule.hpp"
#include "policies/market/safety_net_choice.hpp"

namespace ukemi::policies {

namespace {

class TimeSliced final : public MarketRule {
public:
    TimeSliced(Duration slice, bool overlap_one_tick, SafetyNet net)
        : slice_(slice), overlap_one_tick_(overlap_one_tick), kind_(net), net_(net) {}
    std::string_view name() const override { return "time_sliced"; }

private:
    Decision choose(const PolicyView& view) override {
        const DeadlineView now = watch_.look(view);
        start_slices(now);
        Decision decision = rule(now);
        if (now.tick <= Duration{}) decision.ask_again_in = ask_again(now);
        done_before_s_ = done_at_last_tick_s_;
        return decision;
    }

    // Moves on to the slice that `now` lies in.
    void start_slices(const DeadlineView& now) {
        const double slice_s = to_seconds(slice_);
        const double done_s = to_seconds(now.done());
        slice_count_ = static_cast<std::int64_t>(std::ceil(to_seconds(now.limit) / slice_s));
        share_s_ = to_seconds(now.work_total) / static_cast<double>(slice_count_);
        const double elapsed_s = to_seconds(now.elapsed);
        while (static_cast<double>(slice_index_ + 1) * slice_s - elapsed_s < 0.01 &&
               slice_index_ + 1 < slice_count_) {
            ++slice_index_;
            gain_s_ += done_s - slice_began_at_s_ - share_s_;
            average_gain_s_ = gain_s_ / static_cast<double>(slice_count_ - slice_index_);
            slice_began_at_s_ = done_s;
            counted_from_s_ = overlap_one_tick_ ? done_before_s_ : done_s;
        }
        done_at_last_tick_s_ = done_s;
    }

    Decision rule(const DeadlineView& now) {
        if (now.tick <= Duration{} || kind_ == SafetyNet::strong) {
            if (const auto insisted = net_.insists(now)) return buy(*insisted, "safety net");
        }
        const double tick_s = to_seconds(now.tick);
        const double overhead_s = to_seconds(now.overhead);
        double need_s = share_s_ - (to_seconds(now.done()) - counted_from_s_) + overhead_s;
        const bool last_slice = slice_index_ == slice_count_ - 1;
        if (last_slice) need_s = rounded_up(need_s, tick_s);
        const double slice_end_s = static_cast<double>(slice_index_ + 1) * to_seconds(slice_);
        const double available_s = slice_end_s - to_seconds(now.elapsed) + average_gain_s_;
        const double rest_s = to_seconds(now.work_at_risk) + overhead_s;
        const bool slice_is_late =
            tick_s > 0 ? need_s > available_s - tick_s : need_s >= available_s;
        const bool job_is_late = rounded_up(rest_s, tick_s) > to_seconds(now.remaining) - tick_s;
        if (slice_is_late || job_is_late) {
            const bool on_spot = now.held == Market::spot && !now.leaves_on_demand && !now.slower;
            const bool stay = on_spot && now.work_at_risk == now.work_left;
            const std::string_view why = job_is_late ? "safety net" : "slice is late";
            return buy(stay ? Market::spot : Market::on_demand, why);
        }
        if (now.spot_available) return buy(Market::spot, "spot is there");
        return buy(Market::none, "wait for spot");
    }

    std::optional<Duration> ask_again(const DeadlineView& now) const {
        const double slice_end_s = static_cast<double>(slice_index_ + 1) * to_seconds(slice_);
        const double done_s = to_seconds(now.done()) - counted_from_s_;
        const double slack_s = slice_end_s - to_seconds(now.elapsed) + average_gain_s_ -
                               (share_s_ - done_s + to_seconds(now.overhead));
        std::optional<Duration> due = safety_net_due(now);
        for (const double in_s : {slice_end_s - to_seconds(now.elapsed), slack_s}) {
            if (in_s > 0) due = sooner_of(due, in_seconds(in_s));
        }
        return due;
    }

    static double rounded_up(double s, double tick_s) {
        return tick_s > 0 ? std::ceil(s / tick_s) * tick_s : s;
    }

    Duration slice_;
    bool overlap_one_tick_;
    DeadlineWatch watch_;
    SafetyNet kind_;
    LatchingNet net_;
    std::int64_t slice_count_ = 1;
    std::int64_t slice_index_ = 0;
    double share_s_ = 0;           // work each slice must do
    double gain_s_ = 0;            // done beyond their shares by the slices that are over
    double average_gain_s_ = 0;    // of it, for each slice that remains
    double slice_began_at_s_ = 0;  // work done when this slice began
    double counted_from_s_ = 0;    // work done that this slice does not count as its own
    double done_at_last_tick_s_ = 0;
    double done_before_s_ = 0;  // work done one tick ago
};

}  // namespace

std::unique_ptr<Policy> make_time_sliced(ConfigReader& parameters) {
    const Duration slice =
        bounded_duration(parameters, "slice", whole_seconds(1), days(36'500), hours(8));
    const bool overlap_one_tick = parameters.flag("overlap_one_tick", false);
    return std::make_unique<TimeSliced>(slice, overlap_one_tick, read_safety_net(parameters));
}

}  // namespace ukemi::policies
