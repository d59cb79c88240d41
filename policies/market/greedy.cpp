// greedy.cpp — spot while there is slack, then on-demand: the strawman of «Can't Be Late».
//
// Wu et al., NSDI'24, §4.1: exploit spot whenever it is there, idle when it is not, and fall back
// to on-demand at the last moment that still meets the deadline (the safety net). The switch time
// t' of an idle job solves R(0) − t' = C(t') + d.
#include <array>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/market_rule.hpp"
#include "policies/market/safety_net_choice.hpp"

namespace ukemi::policies {

namespace {

class Greedy final : public MarketRule {
public:
    explicit Greedy(SafetyNet net) : net_(net) {}
    std::string_view name() const override { return "greedy"; }

private:
    Decision choose(const PolicyView& view) override {
        const DeadlineView now = watch_.look(view);
        Decision decision = rule(now);
        decision.ask_again_in = safety_net_due(now);
        return decision;
    }
    Decision rule(const DeadlineView& now) {
        if (const auto insisted = net_.insists(now)) return buy(*insisted, "safety net");
        if (now.spot_available) return buy(Market::spot, "spot is there");
        return buy(Market::none, "wait for spot");
    }

    DeadlineWatch watch_;
    LatchingNet net_;
};

}  // namespace

std::unique_ptr<Policy> make_greedy(ConfigReader& parameters) {
    return std::make_unique<Greedy>(read_safety_net(parameters));
}

}  // namespace ukemi::policies
