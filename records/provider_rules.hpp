// provider_rules.hpp — what providers of spot machines charge and promise, and since when.
//
// One table. A rule holds from its date until the next one of the same provider. A scenario names
// a provider and a date and may still say each thing itself.
#pragma once

#include <span>
#include <string_view>

#include "records/billing.hpp"

namespace ukemi::records {

struct ProviderRules {
    std::string_view provider;  // "aws", as in scenarios
    std::string_view since;     // "2017-10-02", in UTC
    BillingRule spot;
    BillingRule on_demand;
    bool bidding = false;   // a spot machine is taken when the price rises above its bid
    Duration notice;        // between the announcement of a loss and the loss
    Duration lifetime_max;  // a spot machine is taken at this age; zero: no such limit
    std::string_view source;
};

std::span<const ProviderRules> all_provider_rules();  // by provider, then by date
// The names, each once, in the table's order.
std::span<const std::string_view> provider_names();
// The rules of a provider on a day, "2016-05-01"; null before its first.
const ProviderRules* provider_rules_on(std::string_view provider, std::string_view day);

}  // namespace ukemi::records
