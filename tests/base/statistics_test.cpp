// statistics_test.cpp — small samples worked out by hand, and t quantiles from a printed table.
#include "base/statistics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace ukemi;

TEST_CASE("statistics: a sample of four, by hand", "[statistics]") {
    // Mean 10/4; squares 2.25 + 0.25 + 0.25 + 2.25 = 5 over n − 1 = 3; t(3, 0.975) = 3.182446.
    const Summary summary = summarise(std::vector<double>{4, 1, 3, 2});
    CHECK(summary.count == 4);
    CHECK(summary.mean == 2.5);
    CHECK(summary.standard_deviation == Approx(std::sqrt(5.0 / 3)).epsilon(1e-15));
    CHECK(summary.min == 1);
    CHECK(summary.max == 4);
    CHECK(summary.median == 2.5);
    const double half_width = 3.182446 * std::sqrt(5.0 / 3) / 2;
    CHECK(summary.mean_low_95 == Approx(2.5 - half_width).epsilon(1e-6));
    CHECK(summary.mean_high_95 == Approx(2.5 + half_width).epsilon(1e-6));
}

TEST_CASE("statistics: two values use t with one degree of freedom, 12.7062", "[statistics]") {
    // s = √2 · 1, s/√2 = 1: the half width is t itself.
    const Summary summary = summarise(std::vector<double>{-1, 1});
    CHECK(summary.mean == 0);
    CHECK(summary.standard_deviation == Approx(std::sqrt(2.0)));
    CHECK(summary.mean_high_95 == Approx(12.7062).epsilon(1e-5));
    CHECK(summary.mean_low_95 == -summary.mean_high_95);
}

TEST_CASE("statistics: nothing and one value have no spread", "[statistics]") {
    const Summary nothing = summarise({});
    CHECK(nothing.count == 0);
    CHECK(nothing.mean == 0);
    const Summary one = summarise(std::vector<double>{7});
    CHECK(one.count == 1);
    CHECK(one.standard_deviation == 0);
    CHECK(one.median == 7);
    CHECK(one.mean_low_95 == 7);
    CHECK(one.mean_high_95 == 7);
}

TEST_CASE("statistics: equal values have exactly their mean and no spread", "[statistics]") {
    // 0.1 + 0.1 + 0.1 is not 0.3 in doubles.
    const Summary summary = summarise(std::vector<double>(3, 0.1));
    CHECK(summary.mean == 0.1);
    CHECK(summary.standard_deviation == 0);
    CHECK(summary.mean_low_95 == 0.1);
}

TEST_CASE("statistics: the order of the values does not matter", "[statistics]") {
    const Summary up = summarise(std::vector<double>{1e16, 1, -1e16, 0.3});
    const Summary down = summarise(std::vector<double>{0.3, -1e16, 1, 1e16});
    CHECK(up.mean == down.mean);
    CHECK(up.standard_deviation == down.standard_deviation);
}

TEST_CASE("statistics: quantiles are of type 7", "[statistics]") {
    // Position q (n − 1): with five values, 0.1 is at 0.4, 0.9 at 3.6.
    const std::vector<double> values{10, 20, 30, 40, 100};
    CHECK(quantile(values, 0) == 10);
    CHECK(quantile(values, 0.1) == Approx(14));
    CHECK(quantile(values, 0.25) == 20);
    CHECK(quantile(values, 0.5) == 30);
    CHECK(quantile(values, 0.9) == Approx(76));  // 40 + 0.6 · 60
    CHECK(quantile(values, 1) == 100);
    CHECK(quantile(std::vector<double>{3}, 0.7) == 3);
    SECTION("an infinite neighbour does not spoil an exact hit") {
        const double infinity = std::numeric_limits<double>::infinity();
        CHECK(quantile(std::vector<double>{1, 2, infinity}, 0.5) == 2);
    }
}

TEST_CASE("statistics: a median is a mean of two, or one that was seen", "[statistics]") {
    CHECK(median({4, 1, 3, 2}) == 2.5);
    CHECK(median({5, 1, 3}) == 3);
    CHECK(lower_median(std::vector<int>{40, 10, 30, 20}) == 20);
    CHECK(upper_median(std::vector<int>{40, 10, 30, 20}) == 30);
    CHECK(lower_median(std::vector<int>{7}) == 7);
    CHECK(upper_median(std::vector<int>{3, 9, 5}) == 5);
}
