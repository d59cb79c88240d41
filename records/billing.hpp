// billing.hpp — how long a machine is paid for, given how long it was held and who ended it.
//
// Providers charge in steps: AWS by the second with a minimum of 60 s since 2 October 2017, by the
// started hour before; a trace-driven comparison may charge by the trace's tick. Some of it is free
// if the provider takes the machine away. Prices are summed exactly (Charge) and rounded once a
// bill. Who charges how, and since when, is in provider_rules.hpp.
#pragma once

#include "base/quantity.hpp"

namespace ukemi::records {

struct BillingRule {
    Duration granularity{};  // zero: to the nanosecond
    Duration minimum{};
    Duration free_if_taken_within{};       // taken earlier than this after it began: costs nothing
    bool last_part_free_if_taken = false;  // the started step in which it was taken is free
    bool price_at_beginning = false;       // a step costs what it cost when it began, to its end
    friend bool operator==(const BillingRule&, const BillingRule&) = default;
};

// Of a machine that was held for `held` and given back, or taken by the provider. Less than `held`
// only where something was free.
constexpr Duration paid_time(const BillingRule& rule, Duration held, bool taken = false) {
    if (taken && held < rule.free_if_taken_within) return {};
    if (taken && rule.last_part_free_if_taken) return round_down_to(held, rule.granularity);
    const Duration rounded = round_up_to(held, rule.granularity);
    return rounded < rule.minimum ? rule.minimum : rounded;
}

}  // namespace ukemi::records
