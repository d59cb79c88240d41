// Generated markets have the statistics that they promise, and the same bits everywhere.
#include "traces/generator.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "traces/series_statistics.hpp"

using namespace ukemi;
using namespace ukemi::traces;

namespace {

const MarketParameters& shipped_market(std::string_view name) {
    for (const MarketParameters& parameters : all_market_parameters()) {
        if (parameters.name == name) return parameters;
    }
    FAIL("no such market: " << name);
    return all_market_parameters().front();
}

SeriesStatistics long_run(std::string_view name, Duration length) {
    return statistics_of(*generate_market(shipped_market(name), 11, 1, length)[0].availability);
}

// FNV-1a over the integers of a series.
std::uint64_t hash_of(const TraceSeries& series) {
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    const auto mix = [&hash](std::int64_t value) {
        for (int byte = 0; byte < 8; ++byte) {
            hash ^= (static_cast<std::uint64_t>(value) >> (8 * byte)) & 0xFFU;
            hash *= 1'099'511'628'211U;
        }
    };
    for (const auto& step : series.availability->steps) {
        mix(step.at.raw());
        mix(step.value);
    }
    for (const auto& step : series.price->steps) {
        mix(step.at.raw());
        mix(step.value.raw());
    }
    return hash;
}

std::int32_t value_at(const AvailabilitySeries& series, Instant at) {
    const auto next =
        std::upper_bound(series.steps.begin(), series.steps.end(), at,
                         [](Instant instant, const auto& step) { return instant < step.at; });
    return std::prev(next)->value;
}

}  // namespace

// The targets are statistics of recorded series, computed with statistics_of; see
// market_parameters.cpp for their ids. Bands: 10 % of rates and medians, 0.04 of shares, which is
// less than what two zones of one campaign differ by.
TEST_CASE("generator: a plentiful V100 is like us-west-2a in 2023", "[generator][golden]") {
    const auto s = long_run("v100-1-good", days(1000));
    CHECK(s.share_mean == Approx(0.883).margin(0.04));
    CHECK(s.loss_events_per_hour == Approx(0.144).epsilon(0.1));
    CHECK(to_hours(s.up_run_median) == Approx(1.03).epsilon(0.15));
    CHECK(to_hours(s.down_run_median) == Approx(0.38).epsilon(0.15));
}

TEST_CASE("generator: a scarce V100 is like us-east-1a in 2023", "[generator][golden]") {
    const auto s = long_run("v100-1-scarce", days(1000));
    CHECK(s.share_mean == Approx(0.167).margin(0.04));
    CHECK(s.loss_events_per_hour == Approx(0.231).epsilon(0.1));
    CHECK(to_hours(s.up_run_median) == Approx(0.33).epsilon(0.15));
    CHECK(to_hours(s.down_run_median) == Approx(0.54).epsilon(0.15));
}

TEST_CASE("generator: a group of 16 V100 is mostly lost at once, as in us-west-2c",
          "[generator][golden]") {
    const auto s = long_run("v100-16-burst", days(1000));
    CHECK(s.share_mean == Approx(0.427).margin(0.04));
    CHECK(s.loss_events_per_hour == Approx(0.312).epsilon(0.1));
    CHECK(s.instances_lost_per_event == Approx(11.1).epsilon(0.1));
    CHECK(s.share_of_total_losses == Approx(0.72).margin(0.04));
    CHECK(s.share_lost_per_event == Approx(0.86).margin(0.04));
    CHECK(s.share_of_time_none == Approx(0.56).margin(0.04));
    CHECK(to_hours(s.up_run_median) == Approx(0.42).epsilon(0.15));
}

TEST_CASE("generator: a group of 64 p3 keeps losing a little, as Bamboo's", "[generator][golden]") {
    const auto s = long_run("p3-64-group", days(60));
    CHECK(s.share_mean == Approx(0.75).margin(0.04));
    CHECK(s.loss_events_per_hour == Approx(6.94).epsilon(0.1));
    CHECK(s.instances_lost_per_event == Approx(2 * 2.11).epsilon(0.1));  // of 64, not of 32
    CHECK(s.share_lost_per_event == Approx(0.09).margin(0.02));
    CHECK(s.share_of_total_losses < 0.01);
}

TEST_CASE("generator: launches of 16 H100 are like us-central1-c", "[generator][golden]") {
    const auto s = long_run("h100-16-launch", days(1000));
    CHECK(s.share_mean == Approx(0.792).margin(0.04));
    CHECK(s.loss_events_per_hour == Approx(1.04).epsilon(0.1));
    CHECK(s.instances_lost_per_event == Approx(5.59).epsilon(0.1));
    CHECK(s.share_of_total_losses == Approx(0.24).margin(0.04));
    CHECK(s.share_lost_per_event == Approx(0.54).margin(0.04));
}

TEST_CASE("generator: prices of 2023 hardly move above their floor", "[generator][price]") {
    const auto series = generate_market(shipped_market("v100-1-good"), 11, 1, days(1000));
    const auto s = statistics_of(*series[0].price);
    CHECK(s.min >= dollars_per_hour(0.918));  // 0.300 of 3.06
    CHECK(s.max <= dollars_per_hour(1.1));
    CHECK(s.usd_per_hour_mean == Approx(0.945).epsilon(0.03));
    CHECK(s.changes_per_day < 4);
    CHECK(s.step_share_mean == Approx(0.0023).epsilon(0.2));
}

TEST_CASE("generator: prices of 2015 jump above on-demand", "[generator][price]") {
    const auto series = generate_market(shipped_market("g2-bidding"), 11, 1, days(1000));
    const PriceSeries& price = *series[0].price;
    const auto s = statistics_of(price);
    CHECK(s.usd_per_hour_mean == Approx(0.303).epsilon(0.15));
    CHECK(s.max == dollars_per_hour(6.5));
    CHECK(s.changes_per_day == Approx(135.4).epsilon(0.1));
    Duration above;
    std::int64_t jumps = 0;
    for (std::size_t i = 0; i < price.steps.size(); ++i) {
        if (price.steps[i].value <= dollars_per_hour(0.65)) continue;
        above +=
            (i + 1 < price.steps.size() ? price.steps[i + 1].at : price.end) - price.steps[i].at;
        ++jumps;
    }
    CHECK(above / days(1000) == Approx(0.065).margin(0.015));
    CHECK(static_cast<double>(jumps) / 1000 == Approx(1.41).epsilon(0.15));
    CHECK(series[0].availability->steps.size() == 1);  // nobody but the price takes instances
}

TEST_CASE("generator: the same seed gives the same series, on every machine",
          "[generator][golden]") {
    const auto& parameters = shipped_market("v100-16-burst");
    const auto three = generate_market(parameters, 7, 3, days(30));
    const auto one = generate_market(parameters, 7, 1, days(30));
    REQUIRE(three.size() == 3);
    CHECK(three[0].zone == "zone-a");
    CHECK(three[2].zone == "zone-c");
    CHECK(three[0].availability == one[0].availability);  // beside any other zones
    CHECK(three[0].price == one[0].price);
    CHECK(hash_of(three[0]) == 0xad86033e27d99f70U);
    CHECK(hash_of(three[1]) == 0x359486fcc9e3179eU);
    CHECK(hash_of(generate_market(parameters, 8, 1, days(30))[0]) != hash_of(one[0]));
}

TEST_CASE("generator: zones are independent", "[generator]") {
    const auto zones = generate_market(shipped_market("v100-16-burst"), 5, 28, days(365));
    CHECK(zones[25].zone == "zone-z");
    CHECK(zones[26].zone == "zone-aa");
    CHECK(zones[27].zone == "zone-ab");
    // Correlation of hourly samples; with a year of runs of some hours, 0.06 is three deviations.
    const auto correlation = [&](std::size_t a, std::size_t b) {
        double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
        const int n = 365 * 24;
        for (int h = 0; h < n; ++h) {
            const double x = value_at(*zones[a].availability, Instant::at(hours(h)));
            const double y = value_at(*zones[b].availability, Instant::at(hours(h)));
            sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
        }
        return (sab - sa * sb / n) / std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
    };
    CHECK(std::abs(correlation(0, 1)) < 0.06);
    CHECK(std::abs(correlation(1, 2)) < 0.06);
    CHECK(std::abs(correlation(0, 27)) < 0.06);
    CHECK(correlation(3, 3) == Approx(1));
}

TEST_CASE("generator: every series keeps the promises of series.hpp", "[generator][property]") {
    const auto seed = GENERATE(range(1, 6));
    CAPTURE(seed);
    for (const MarketParameters& parameters : all_market_parameters()) {
        CAPTURE(parameters.name);
        const Duration length = hours(100) + nanoseconds(seed);
        const auto zones = generate_market(parameters, static_cast<std::uint64_t>(seed), 2, length);
        for (const TraceSeries& zone : zones) {
            const auto& steps = zone.availability->steps;
            bool sound = steps[0].at == Instant{} && zone.availability->end == Instant::at(length);
            for (std::size_t i = 0; i < steps.size(); ++i) {
                sound = sound && steps[i].value >= 0 && steps[i].value <= parameters.capacity;
                sound = sound && steps[i].at.raw() % parameters.sampling.raw() == 0;
                if (i == 0) continue;
                sound =
                    sound && steps[i].at > steps[i - 1].at && steps[i].value != steps[i - 1].value;
            }
            CHECK(sound);
            CHECK(zone.price->end == Instant::at(length));
        }
    }
}
