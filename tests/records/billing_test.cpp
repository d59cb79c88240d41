// billing_test.cpp — what providers charge for a held time, by hand.
#include "records/billing.hpp"

#include <catch2/catch.hpp>

using namespace ukemi;
using namespace ukemi::records;

namespace {

Dollars bill(BillingRule rule, Duration held, double usd_per_hour) {
    Charge charge;
    charge.add(dollars_per_hour(usd_per_hour), paid_time(rule, held));
    return charge.rounded();
}

}  // namespace

TEST_CASE("billing: by the second, a minute at least", "[billing]") {
    const BillingRule rule{whole_seconds(1), whole_seconds(60)};
    CHECK(paid_time(rule, Duration{}) == whole_seconds(60));
    CHECK(paid_time(rule, whole_seconds(59)) == whole_seconds(60));
    CHECK(paid_time(rule, whole_seconds(60)) == whole_seconds(60));
    CHECK(paid_time(rule, whole_seconds(60) + nanoseconds(1)) == whole_seconds(61));
    CHECK(paid_time(rule, hours(1)) == hours(1));
    // 61 s of 3.06 USD/h: 0.05185 USD.
    CHECK(bill(rule, milliseconds(60'500), 3.06) == nano_dollars(51'850'000));
}

TEST_CASE("billing: by the started hour", "[billing]") {
    const BillingRule rule{hours(1), Duration{}};
    CHECK(paid_time(rule, Duration{}) == Duration{});
    CHECK(paid_time(rule, nanoseconds(1)) == hours(1));
    CHECK(paid_time(rule, hours(1)) == hours(1));
    CHECK(paid_time(rule, hours(1) + nanoseconds(1)) == hours(2));
    CHECK(bill(rule, minutes(61), 0.9) == dollars(1.8));
}

TEST_CASE("billing: by the tick of a trace", "[billing]") {
    const BillingRule rule{minutes(10), Duration{}};
    CHECK(paid_time(rule, minutes(10)) == minutes(10));
    CHECK(paid_time(rule, minutes(11)) == minutes(20));
    CHECK(bill(rule, minutes(11), 3.06) == dollars(1.02));
}

TEST_CASE("billing: to the nanosecond without a granularity", "[billing]") {
    const BillingRule rule;
    CHECK(paid_time(rule, nanoseconds(1)) == nanoseconds(1));
    CHECK(paid_time(rule, Duration{}) == Duration{});
    static_assert(paid_time({Duration{}, whole_seconds(60)}, nanoseconds(1)) == whole_seconds(60));
}
