#include "records/provider_rules.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace ukemi {

namespace {

const records::BillingRule& spot(std::string_view provider, std::string_view day) {
    const records::ProviderRules* rules = records::provider_rules_on(provider, day);
    REQUIRE(rules != nullptr);
    return rules->spot;
}

}  // namespace

TEST_CASE("provider rules: a rule holds from its day until the next", "[provider_rules]") {
    CHECK(spot("aws", "2017-10-01").granularity == hours(1));
    CHECK(spot("aws", "2017-10-02").granularity == whole_seconds(1));
    CHECK(records::provider_rules_on("aws", "2017-11-27")->bidding);
    CHECK_FALSE(records::provider_rules_on("aws", "2017-11-28")->bidding);
    CHECK(records::provider_rules_on("aws", "2015-01-05")->notice == Duration{});
    CHECK(records::provider_rules_on("aws", "2015-01-06")->notice == minutes(2));
    CHECK(records::provider_rules_on("gcp_preemptible", "2020-01-01")->lifetime_max == hours(24));
    CHECK(records::provider_rules_on("gcp_spot", "2022-01-01")->lifetime_max == Duration{});
    CHECK(records::provider_rules_on("azure", "2024-01-01")->notice == whole_seconds(30));
}

TEST_CASE("provider rules: nothing is known before the first day or of strangers",
          "[provider_rules]") {
    CHECK(records::provider_rules_on("aws", "2009-12-13") == nullptr);
    CHECK(records::provider_rules_on("gcp_spot", "2021-10-11") == nullptr);
    CHECK(records::provider_rules_on("nobody", "2024-01-01") == nullptr);
}

TEST_CASE("provider rules: the table is in order and names its sources", "[provider_rules]") {
    std::string before;
    for (const records::ProviderRules& each : records::all_provider_rules()) {
        CAPTURE(each.provider, each.since);
        CHECK(each.since.size() == 10);
        CHECK_FALSE(each.source.empty());
        CHECK(std::ranges::find(records::provider_names(), each.provider) !=
              records::provider_names().end());
        const std::string now = std::string(each.provider) + each.since.data();
        if (before.starts_with(each.provider)) CHECK(before < now);
        before = now;
    }
}

TEST_CASE("provider rules: what is paid for, by hand", "[provider_rules]") {
    const auto paid = [](std::string_view provider, std::string_view day, Duration held,
                         bool taken) {
        return records::paid_time(spot(provider, day), held, taken);
    };
    constexpr bool taken = true;
    constexpr bool given_back = false;
    // By the hour: the one that AWS cuts short is free, the one that the user does is not.
    CHECK(paid("aws", "2016-05-01", minutes(90), given_back) == hours(2));
    CHECK(paid("aws", "2016-05-01", minutes(90), taken) == hours(1));
    CHECK(paid("aws", "2016-05-01", minutes(59), taken) == Duration{});
    CHECK(paid("aws", "2016-05-01", hours(2), taken) == hours(2));
    // By the second, a minute at least; the first hour is free if AWS ends it.
    CHECK(paid("aws", "2018-05-01", whole_seconds(20), given_back) == whole_seconds(60));
    CHECK(paid("aws", "2018-05-01", milliseconds(90'500), given_back) == whole_seconds(91));
    CHECK(paid("aws", "2018-05-01", minutes(59), taken) == Duration{});
    CHECK(paid("aws", "2018-05-01", hours(1), taken) == hours(1));
    // Ten minutes at least, by the minute; then a minute at least, by the second.
    CHECK(paid("gcp_preemptible", "2016-05-01", minutes(3), given_back) == minutes(10));
    CHECK(paid("gcp_preemptible", "2016-05-01", minutes(9), taken) == Duration{});
    CHECK(paid("gcp_preemptible", "2016-05-01", whole_seconds(690), taken) == minutes(12));
    CHECK(paid("gcp_preemptible", "2018-05-01", whole_seconds(50), taken) == Duration{});
    CHECK(paid("gcp_preemptible", "2018-05-01", whole_seconds(70), taken) == whole_seconds(70));
    CHECK(paid("azure", "2021-05-01", milliseconds(20'500), given_back) == whole_seconds(21));
}

}  // namespace ukemi
