// market_rules.hpp — by what rules a market gives, takes and charges, beside the recorded series.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.hpp"
#include "records/billing.hpp"

namespace ukemi::sim {

struct MarketRules {
    records::BillingRule spot_billing;
    records::BillingRule on_demand_billing;
    // A spot instance whose bid the price rises above is announced and lost, none is launched while
    // it is above, and nobody pays more than the bid. Without bidding, bids mean nothing.
    bool bidding = false;
    Duration lifetime_max;      // a spot instance is lost at this age; zero: no limit
    double notice_arrives = 1;  // the share of losses that are announced at all
    Duration blockout;          // no spot launch in a zone for so long after a loss there
    double launch_failure = 0;  // the share of spot requests that come to nothing
    // Machines are not alike: the first launched are as fast as these say, per mille of what the
    // market promises; of the others a share is slow.
    std::vector<std::int32_t> machine_speeds;
    double slow_share = 0;
    std::int32_t slow_speed = 1000;
    bool uneven() const { return !machine_speeds.empty() || slow_share > 0; }
    Duration launch_retry;  // a zone is asked again so long after such a failure
    friend bool operator==(const MarketRules&, const MarketRules&) = default;
};

}  // namespace ukemi::sim
