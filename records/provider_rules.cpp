#include "records/provider_rules.hpp"

#include <array>

namespace ukemi::records {

namespace {

constexpr BillingRule started_hour{.granularity = hours(1)};
// The bidding era: an hour costs what it cost when it began; the one that is cut short is free.
constexpr BillingRule bid_hour{
    .granularity = hours(1), .last_part_free_if_taken = true, .price_at_beginning = true};
constexpr BillingRule second_of_a_minute{.granularity = whole_seconds(1),
                                         .minimum = whole_seconds(60)};
constexpr BillingRule second_first_hour_free{.granularity = whole_seconds(1),
                                             .minimum = whole_seconds(60),
                                             .free_if_taken_within = hours(1)};
constexpr BillingRule minute_of_ten{.granularity = minutes(1), .minimum = minutes(10)};
constexpr BillingRule minute_of_ten_free{
    .granularity = minutes(1), .minimum = minutes(10), .free_if_taken_within = minutes(10)};
constexpr BillingRule second_first_minute_free{.granularity = whole_seconds(1),
                                               .minimum = whole_seconds(60),
                                               .free_if_taken_within = minutes(1)};
constexpr BillingRule by_second{.granularity = whole_seconds(1)};

constexpr bool bids = true;

constexpr std::array table{
    ProviderRules{"aws", "2009-12-14", bid_hour, started_hour, bids, Duration{}, Duration{},
                  "EC2 spot instances begin; the interrupted hour is free"},
    ProviderRules{"aws", "2015-01-06", bid_hour, started_hour, bids, minutes(2), Duration{},
                  "AWS news: two-minute notice"},
    ProviderRules{"aws", "2017-10-02", second_first_hour_free, second_of_a_minute, bids, minutes(2),
                  Duration{}, "AWS news: per-second billing"},
    ProviderRules{"aws", "2017-11-28", second_first_hour_free, second_of_a_minute, !bids,
                  minutes(2), Duration{}, "AWS news: smoothed prices, no bid is needed"},
    ProviderRules{"gcp_preemptible", "2015-05-18", minute_of_ten_free, minute_of_ten, !bids,
                  whole_seconds(30), hours(24), "Google Cloud: preemptible VMs begin"},
    ProviderRules{"gcp_preemptible", "2017-09-26", second_first_minute_free, second_of_a_minute,
                  !bids, whole_seconds(30), hours(24), "Google Cloud: per-second billing"},
    ProviderRules{"gcp_spot", "2021-10-12", second_first_minute_free, second_of_a_minute, !bids,
                  whole_seconds(30), Duration{}, "Google Cloud: spot VMs without the 24 h limit"},
    ProviderRules{"azure", "2020-05-18", by_second, by_second, !bids, whole_seconds(30), Duration{},
                  "Azure: spot VMs, 30 s by Scheduled Events"},
};

constexpr std::array<std::string_view, 4> names{"aws", "gcp_preemptible", "gcp_spot", "azure"};

}  // namespace

std::span<const ProviderRules> all_provider_rules() { return table; }

std::span<const std::string_view> provider_names() { return names; }

const ProviderRules* provider_rules_on(std::string_view provider, std::string_view day) {
    const ProviderRules* latest = nullptr;
    for (const ProviderRules& each : table) {  // dates in this form sort as text
        if (each.provider == provider && each.since <= day) latest = &each;
    }
    return latest;
}

}  // namespace ukemi::records
