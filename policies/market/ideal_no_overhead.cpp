// ideal_no_overhead.cpp — an oracle: knows how much spot there will be, and pretends that changing
// over costs nothing.
//
// The lower line in the figures of «Can't Be Late» (Wu et al., NSDI'24): all the spot time until
// the deadline is used, and on-demand fills exactly what is missing. It pays real changeovers, so
// it may finish late; it is a yardstick and not a policy for use.
#include <algorithm>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/market_rule.hpp"

namespace ukemi::policies {

namespace {

class IdealNoOverhead final : public MarketRule {
public:
    std::string_view name() const override { return "ideal_no_overhead"; }

private:
    Decision choose(const PolicyView& view) override {
        INVARIANT(view.oracle != nullptr);
        const DeadlineView now = watch_.look(view);
        if (!budget_) {
            const Instant until = Instant::at(round_up_to(now.limit, now.tick));
            const Duration spot = view.oracle->spot_time(Instant{}, until, view.seen.workers_min);
            budget_ = std::max(Duration{}, now.work_total - spot);
        }
        if (on_demand_since_) *budget_ -= view.seen.now - *on_demand_since_;
        on_demand_since_.reset();
        if (now.work_left <= Duration{}) return buy(Market::none, "done");
        if (now.spot_available) return buy(Market::spot, "spot is there");
        if (*budget_ <= Duration{}) return buy(Market::none, "spot will come");
        on_demand_since_ = view.seen.now;
        Decision decision = buy(Market::on_demand, "spot will not suffice");
        if (now.tick <= Duration{}) decision.ask_again_in = *budget_;
        return decision;
    }

    DeadlineWatch watch_;
    std::optional<Duration> budget_;          // on-demand time that is still needed
    std::optional<Instant> on_demand_since_;  // since the last question, if it chose on-demand
};

}  // namespace

std::unique_ptr<Policy> make_ideal_no_overhead(ConfigReader&) {
    return std::make_unique<IdealNoOverhead>();
}

}  // namespace ukemi::policies
