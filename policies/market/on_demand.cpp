// on_demand.cpp — never depends on spot: the price of certainty, and every comparison's baseline.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/market_rule.hpp"

namespace ukemi::policies {

namespace {

class OnDemand final : public MarketRule {
public:
    std::string_view name() const override { return "on_demand"; }

private:
    Decision choose(const PolicyView& view) override {
        if (all_done(view)) return buy(Market::none, "done");
        return buy(Market::on_demand, "always");
    }
};

}  // namespace

std::unique_ptr<Policy> make_on_demand(ConfigReader&) { return std::make_unique<OnDemand>(); }

}  // namespace ukemi::policies
