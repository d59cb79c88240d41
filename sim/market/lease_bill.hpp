// lease_bill.hpp — what one lease of an instance costs, by the rules of its market, and sums of
// what was paid.
#pragma once

#include <optional>

#include "records/billing.hpp"
#include "sim/market/market.hpp"

namespace ukemi::sim {

// Whether a bill follows from the meter's difference, or needs the prices of its whole time.
constexpr bool needs_price_history(const records::BillingRule& rule, bool bidding) {
    return bidding || rule.price_at_beginning || rule.last_part_free_if_taken;
}

// The price of a lease from `opened`, where `price` stands, paid for `paid`; `held` is how long it
// was there. What is paid after it was given back costs what it cost at that moment. No moment
// costs more than `most`, if there is one.
Charge charge_of_lease(const records::BillingRule& rule, PriceCursor price, Instant opened,
                       Duration held, Duration paid, std::optional<Price> most);

// Both sums of dollars; std::overflow_error where the run has become too large for one.
Dollars in_all(Dollars a, Dollars b);

}  // namespace ukemi::sim
