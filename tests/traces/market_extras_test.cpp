// market_extras_test.cpp — a daily cycle, shared losses and lifetimes do what they say; charts and
// detailed statistics against hand-made series.
#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "tests/traces/fixture.hpp"
#include "traces/character_chart.hpp"
#include "traces/generator.hpp"
#include "traces/market_statistics.hpp"
#include "traces/public_datasets.hpp"
#include "traces/series_statistics.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using test::counts;
using test::prices;

namespace {

MarketParameters market_named(std::string_view name) {
    for (const MarketParameters& parameters : all_market_parameters()) {
        if (parameters.name == name) return parameters;
    }
    FAIL("no such market: " << name);
    return {};
}

}  // namespace

TEST_CASE("generator: a daily cycle moves losses to its worst hour and keeps their number",
          "[generator]") {
    MarketParameters flat = market_named("v100-1-good");
    flat.quiet = {0.5, 3, 3};  // no flapping, which would blur the hours
    MarketParameters daily = flat;
    daily.daily = {0.5, 15};
    const auto losses = [](const MarketParameters& parameters) {
        const auto made = generate_market(parameters, 4, 1, days(2000));
        return *losses_by_hour(*made[0].availability, "2020-01-01T00:00:00Z");
    };
    const auto without = losses(flat);
    const auto with = losses(daily);
    double all_without = 0;
    double all_with = 0;
    for (std::size_t hour = 0; hour < 24; ++hour) {
        all_without += static_cast<double>(without[hour]);
        all_with += static_cast<double>(with[hour]);
    }
    CHECK(all_with == Approx(all_without).epsilon(0.1));
    // A depth of 0.5: 1.5 times the mean at 15 h, 0.5 times at 3 h; less sharp, because an
    // instance that is lost at 15 h cannot be lost at 16 h.
    CHECK(static_cast<double>(with[15]) > 1.2 * all_with / 24);
    CHECK(static_cast<double>(with[3]) < 0.7 * all_with / 24);
    CHECK(static_cast<double>(without[15]) == Approx(all_without / 24).epsilon(0.15));
}

TEST_CASE("generator: shared losses hit zones of one region only", "[generator]") {
    MarketParameters shared = market_named("v100-16-burst");
    shared.quiet = {0.5, 20, 20};
    shared.shared = {2, 3, 1, 2};
    const auto zones = generate_market(shared, 9, 4, days(400));
    CHECK(*correlation(zones[0], zones[1]) > 0.3);
    CHECK(*correlation(zones[2], zones[3]) > 0.3);
    CHECK(std::abs(*correlation(zones[0], zones[2])) < 0.1);
    CHECK(std::abs(*correlation(zones[1], zones[3])) < 0.1);
    const auto two = generate_market(shared, 9, 2, days(400));
    CHECK(two[1].availability == zones[1].availability);  // beside any other zones
}

TEST_CASE("generator: lifetimes take one instance at a time, none older than the cap",
          "[generator]") {
    MarketParameters aged = market_named("v100-16-burst");
    aged.quiet = {0.5, 1e9, 1e9};  // nothing but age
    aged.outage = {0.5, 0.1, 0.1};
    aged.full_refill_share = 1;
    aged.lifetimes = {0.45, 1, 0.8, 24};
    aged.sampling = minutes(1);  // a loss and a refill of one tick are no step
    const auto made = generate_market(aged, 2, 1, days(300));
    const SeriesStatistics s = statistics_of(*made[0].availability);
    CHECK(s.share_of_total_losses == 0);
    CHECK(s.instances_lost_per_event < 1.2);
    CHECK(s.share_mean > 0.97);
    // The mean of the law: 24 h less what the early ones miss, by summing 1 − F.
    double mean_h = 0;
    for (int i = 0; i < 2600; ++i) mean_h += 0.01 * (1 - gone_after(aged.lifetimes, i * 0.01));
    const double lost_per_hour = s.loss_events_per_hour * s.instances_lost_per_event;
    CHECK(lost_per_hour == Approx(16 * s.share_mean / mean_h).epsilon(0.04));
}

TEST_CASE("market statistics: bursts, runs and quiet times of a series by hand",
          "[market_statistics]") {
    // Held: 4 for 1 h, 1 for 1 h, none for 2 h, 3 for 1 h, 2 for 1 h.
    const auto series = counts({{0, 4}, {3600, 1}, {7200, 0}, {14'400, 3}, {18'000, 2}}, 21'600);
    const AvailabilityDetail detail = detail_of(series);
    CHECK(detail.burst_sizes == std::vector<double>{1, 1, 3});
    CHECK(detail.burst_shares.back() == 1);
    CHECK(detail.up_runs_h.empty());  // the first and the last one are cut off
    CHECK(detail.down_runs_h == std::vector<double>{2});
    CHECK(detail.quiet_runs_h == std::vector<double>{1, 1});
    CHECK_FALSE(by_hour_of_day(series, "2020-01-01T00:00:00Z"));  // less than a day
    const auto day = counts({{0, 2}, {3600 * 6 + 1800, 0}}, 86'400);
    const auto hours_held = by_hour_of_day(day, "2020-01-01T20:00:00Z");
    REQUIRE(hours_held);
    CHECK((*hours_held)[20] == 2);
    CHECK((*hours_held)[2] == 1);  // half of the hour
    CHECK((*hours_held)[3] == 0);
    CHECK_FALSE(by_hour_of_day(day, "2020-01-01"));
    CHECK((*losses_by_hour(day, "2020-01-01T20:00:00Z"))[2] == 1);
    const PriceDetail price = detail_of(prices({{0, 1}, {900, 1.05}, {1000, 2}}, 1000));
    CHECK(price.usd_median == 1);
    CHECK(price.usd_p99 == Approx(1.05));
    CHECK(price.jumps == 1);
}

TEST_CASE("market statistics: windows of a generated series as long as the recorded ones",
          "[market_statistics]") {
    const auto zone = [](AvailabilitySeries series) {
        TraceSeries one;
        one.availability = std::move(series);
        return one;
    };
    const std::vector<TraceSeries> recorded{zone(counts({{0, 1}}, 100)),
                                            zone(counts({{0, 1}}, 30))};
    const std::vector<TraceSeries> generated{
        zone(counts({{0, 2}, {50, 0}, {100, 1}, {120, 3}}, 240)), zone(counts({{0, 5}}, 20))};
    const auto windows = windows_like(recorded, generated);
    REQUIRE(windows.size() == 4);
    CHECK(windows[0].availability == counts({{0, 2}, {50, 0}}, 100));
    CHECK(windows[1].availability == counts({{0, 1}, {20, 3}}, 30));
    CHECK(windows[2].availability == counts({{0, 3}}, 100));
    CHECK(windows[3].availability == counts({{0, 5}}, 20));  // too short: whole
    CHECK(windows_like({}, generated).size() == 2);
}

TEST_CASE("market statistics: correlations follow the calendar", "[market_statistics]") {
    TraceSeries a;
    a.availability = counts({{0, 1}, {86'400, 0}, {172'800, 1}}, 259'200);
    a.start = "2020-01-01T00:00:00Z";
    TraceSeries b = a;
    CHECK(*correlation(a, b) == Approx(1));
    // A day later b has what a had a day before: over the two days both know, the opposite.
    b.start = "2020-01-02T00:00:00Z";
    CHECK(*correlation(a, b) == Approx(-1));
    b.start = "2020-02-01T00:00:00Z";
    CHECK_FALSE(correlation(a, b));
    CHECK(region_of_zone("us-east-1a") == "us-east-1");
    CHECK(region_of_zone("us-central1-a") == "us-central1");
    CHECK(region_of_zone("us-east-1") == "us-east-1");
    CHECK(region_of_zone("") == "");
}

TEST_CASE("character chart: means of columns, bounded width, nothing drawn as none but none",
          "[chart]") {
    const auto series = counts({{0, 4}, {50, 0}, {75, 2}}, 100);
    CHECK(column_means(series, 4) == std::vector<double>{4, 4, 0, 2});
    CHECK(column_means(series, 2) == std::vector<double>{4, 1});
    CHECK(column_means(counts({{0, 4}}, 0), 7) == std::vector<double>{4});
    const std::vector<double> values{0, 0.001, 2, 4};
    CHECK(chart(values, 0, 4, 2, 40, "below") == "      4 │   █\n      0 │ ▁██\n         below\n");
    const std::vector<double> many(1000, 1.0);
    for (const std::size_t width : {20U, 80U, 200U, 1000U}) {
        const std::string text = chart(many, 0, 1, 1, width, std::string(2000, 'x'));
        const std::string second = text.substr(text.find('\n') + 1);
        CHECK(second.size() <= std::min<std::size_t>(width, chart_width_max) + 1);
    }
}

TEST_CASE("public data sets: each says where it is, under which licence, and as what",
          "[datasets]") {
    for (const PublicDataset& dataset : all_public_datasets()) {
        CAPTURE(dataset.name);
        CHECK_FALSE(dataset.licence.empty());
        CHECK(dataset.repository.empty() == dataset.commit.empty());
        CHECK_FALSE(dataset.what.empty());
        CHECK_FALSE(dataset.files.empty());
        const bool other = dataset.command.starts_with("ukemi import nccl-tests ") ||
                           dataset.command.starts_with("ukemi fit --learning ");
        CHECK(other == dataset.forms.empty());
        CHECK((other || dataset.command.starts_with("ukemi import ")));
        std::string_view forms = dataset.forms;
        while (!forms.empty()) {
            const std::string_view form = forms.substr(0, forms.find(' '));
            const auto all = all_trace_forms();
            CHECK(std::ranges::find(all, form, &TraceForm::name) != all.end());
            forms.remove_prefix(std::min(form.size() + 1, forms.size()));
        }
    }
}
