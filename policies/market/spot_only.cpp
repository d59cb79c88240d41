// spot_only.cpp — takes spot whenever there is some and waits when there is none, deadline or not.
#include <algorithm>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/market_rule.hpp"

namespace ukemi::policies {

namespace {

class SpotOnly final : public MarketRule {
public:
    std::string_view name() const override { return "spot_only"; }

private:
    Decision choose(const PolicyView& view) override {
        if (all_done(view)) return buy(Market::none, "done");
        const Observation& seen = view.seen;
        if (std::max(spot_within_reach(view), seen.spot_held) >= seen.workers_min) {
            return buy(Market::spot, "spot is there");
        }
        return buy(Market::none, "wait for spot");
    }
};

}  // namespace

std::unique_ptr<Policy> make_spot_only(ConfigReader&) { return std::make_unique<SpotOnly>(); }

}  // namespace ukemi::policies
