// price_record_test.cpp — quantiles of prices by the time for which they held, over a window.
#include "policies/market/price_record.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

Instant at_hour(std::int64_t hour) { return Instant::at(hours(hour)); }

}  // namespace

TEST_CASE("price record: a quantile is weighted by time, however often one looks",
          "[price_record]") {
    // 3 for nine hours, 8 for one.
    PriceRecord record(days(7));
    record.see(Price::of(3), at_hour(0));
    CHECK(record.quantile(0.5) == Price::of(3));  // no time yet: the last one
    record.see(Price::of(3), at_hour(4));
    record.see(Price::of(3), at_hour(4));
    record.see(Price::of(8), at_hour(9));
    record.see(Price::of(2), at_hour(10));
    CHECK(record.seen_for() == hours(10));
    CHECK(record.quantile(0) == Price::of(3));
    CHECK(record.quantile(0.9) == Price::of(3));
    CHECK(record.quantile(0.91) == Price::of(8));
    CHECK(record.quantile(1) == Price::of(8));
    record.see(Price::of(2), at_hour(20));  // and 2 for ten
    CHECK(record.quantile(0.5) == Price::of(2));
    CHECK(record.quantile(0.51) == Price::of(3));
}

TEST_CASE("price record: what lies before the window is forgotten", "[price_record]") {
    PriceRecord record(hours(4));
    record.see(Price::of(9), at_hour(0));
    record.see(Price::of(1), at_hour(3));
    record.see(Price::of(1), at_hour(4));
    CHECK(record.quantile(1) == Price::of(9));
    CHECK(record.seen_for() == hours(4));
    record.see(Price::of(1), at_hour(6));  // an hour of 9 is left
    CHECK(record.quantile(0.75) == Price::of(1));
    CHECK(record.quantile(0.76) == Price::of(9));
    record.see(Price::of(5), at_hour(7));
    CHECK(record.quantile(1) == Price::of(1));
    record.see(Price::of(5), at_hour(100));
    CHECK(record.quantile(0) == Price::of(5));
    CHECK(record.seen_for() == hours(4));
}

TEST_CASE("price record: equals the count of every second of the window",
          "[price_record][property]") {
    const auto seed = GENERATE(range(1, 30));
    CAPTURE(seed);
    RandomStream draw(static_cast<std::uint64_t>(seed), "test");
    const std::int64_t window_s = draw.integer(1, 60);
    PriceRecord record(whole_seconds(window_s));
    std::vector<std::int64_t> price_of_second;
    std::int64_t price = draw.integer(1, 5);
    record.see(Price::of(price), Instant{});
    for (int look = 0; look < 40; ++look) {
        const std::int64_t passed = draw.integer(0, 9);
        for (std::int64_t i = 0; i < passed; ++i) price_of_second.push_back(price);
        price = draw.integer(1, 5);
        const auto now = static_cast<std::int64_t>(price_of_second.size());
        record.see(Price::of(price), Instant::at(whole_seconds(now)));
        const std::int64_t count = std::min(window_s, now);
        CHECK(record.seen_for() == whole_seconds(count));
        if (count == 0) continue;
        std::vector<std::int64_t> held(price_of_second.end() - count, price_of_second.end());
        std::ranges::sort(held);
        for (const double q : {0.25, 0.5, 0.75, 1.0}) {
            const auto rank = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count)));
            const auto index = static_cast<std::size_t>(std::max<std::int64_t>(rank, 1) - 1);
            CHECK(record.quantile(q) == Price::of(held[index]));
        }
    }
}
