// billing.hpp — how long a machine is paid for, given how long it was held.
//
// Providers charge in steps: AWS by the second with a minimum of 60 s since 2 October 2017, by the
// started hour before; a trace-driven comparison may charge by the trace's tick. Prices are summed
// exactly (Charge) and rounded once a bill.
#pragma once

#include "base/quantity.hpp"

namespace ukemi {

struct BillingRule {
    Duration granularity;  // zero: to the nanosecond
    Duration minimum;
};

// Not less than `held`.
constexpr Duration paid_time(BillingRule rule, Duration held) {
    const Duration rounded = round_up_to(held, rule.granularity);
    return rounded < rule.minimum ? rule.minimum : rounded;
}

}  // namespace ukemi
