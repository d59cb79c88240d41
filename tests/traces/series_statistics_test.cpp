// The statistics of markets small enough to count by hand.
#include "traces/series_statistics.hpp"

#include <catch2/catch.hpp>

#include "tests/traces/fixture.hpp"

using namespace ukemi;
using namespace ukemi::traces;

TEST_CASE("series statistics: a small market counted by hand", "[series_statistics]") {
    // 4 for 1 h, 1 for 1 h, 0 for 2 h, 4 for 4 h: 8 h.
    const auto s = statistics_of(test::counts({{0, 4}, {3600, 1}, {7200, 0}, {14'400, 4}}, 28'800));
    CHECK(s.instances_max == 4);
    CHECK(s.instances_mean == Approx((4 + 1 + 0 + 16) / 8.0));
    CHECK(s.share_mean == Approx(21 / 32.0));
    CHECK(s.share_of_time_none == Approx(2 / 8.0));
    CHECK(s.share_of_time_full == Approx(5 / 8.0));
    CHECK(s.changes == 3);
    CHECK(s.loss_events == 2);
    CHECK(s.loss_events_per_hour == Approx(2 / 8.0));
    CHECK(s.instances_lost_per_event == Approx((3 + 1) / 2.0));
    CHECK(s.share_lost_per_event == Approx((0.75 + 1) / 2));
    CHECK(s.share_of_total_losses == Approx(0.5));
    CHECK(s.instances_gained_per_event == Approx(4));
    CHECK(s.up_run_median == hours(4));  // runs of 2 h and 4 h: the upper one
    CHECK(s.down_run_median == hours(2));
    CHECK(describe(s) ==
          "8.0 h, 2.62 of 4 instances on average (65.6 %), 3 changes, 0.250 losses/h of 2.00 "
          "instances (50 % of them total), median run 4.00 h up, 2.00 h down");
}

TEST_CASE("series statistics: nothing to count is zero", "[series_statistics]") {
    const auto s = statistics_of(test::counts({{0, 0}}, 0));
    CHECK(s.instances_mean == 0);
    CHECK(s.share_mean == 0);
    CHECK(s.loss_events_per_hour == 0);
    CHECK(s.up_run_median == Duration{});
}

TEST_CASE("series statistics: of one moment it is what was seen then", "[series_statistics]") {
    const auto s = statistics_of(test::counts({{0, 3}}, 0));
    CHECK(s.instances_mean == 3);
    CHECK(s.share_of_time_none == 0);
    CHECK(s.share_of_time_full == 1);
    CHECK(s.loss_events_per_hour == 0);
    CHECK(statistics_of(test::prices({{0, 1.5}}, 0)).usd_per_hour_mean == Approx(1.5));
}

TEST_CASE("series statistics: prices are weighted by time", "[series_statistics]") {
    // 1 USD/h for 6 h, 2 for 18 h; one change of 100 % in a day.
    const auto s = statistics_of(test::prices({{0, 1}, {21'600, 2}}, 86'400));
    CHECK(s.usd_per_hour_mean == Approx((6 + 36) / 24.0));
    CHECK(s.min == dollars_per_hour(1));
    CHECK(s.max == dollars_per_hour(2));
    CHECK(s.changes_per_day == Approx(1));
    CHECK(s.step_share_mean == Approx(1));
}
