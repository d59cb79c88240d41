// market_fit_test.cpp — markets fitted to recorded ones behave like them, and stop to when their
// bursts are taken apart into independent losses.
#include "traces/market_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/recorded.hpp"
#include "tests/traces/fixture.hpp"
#include "traces/market_comparison.hpp"
#include "traces/market_file.hpp"
#include "traces/market_statistics.hpp"

using namespace ukemi;
using namespace ukemi::traces;
namespace fs = std::filesystem;

namespace {

const MarketParameters& shipped(std::string_view name) {
    const auto all = all_market_parameters();
    return *std::ranges::find(all, name, &MarketParameters::name);
}

// The same instances lost and brought back an hour, but one at a time: no burst correlation.
MarketParameters without_bursts(MarketParameters parameters, double burst_mean) {
    const auto faster = [&](ShortOrLong& wait) {
        wait.short_h_mean /= burst_mean;
        wait.long_h_mean /= burst_mean;
    };
    parameters.total_loss_share = 0;
    parameters.burst_share_mean = 1e-9;  // rounds to nothing, and one at least is taken
    faster(parameters.quiet);
    if (parameters.quiet_after_none) faster(*parameters.quiet_after_none);
    faster(parameters.outage);
    parameters.full_refill_share = 0;
    parameters.refill_step_mean = 1;
    parameters.refill_gap_h_mean /= burst_mean;
    return parameters;
}

std::size_t misfits(const std::vector<ComparedFigure>& figures) {
    return static_cast<std::size_t>(
        std::ranges::count_if(figures, [](const ComparedFigure& each) { return !each.fits(); }));
}

const ComparedFigure& figure(const std::vector<ComparedFigure>& figures, std::string_view name) {
    const auto found = std::ranges::find(figures, name, &ComparedFigure::name);
    REQUIRE(found != figures.end());
    return *found;
}

struct Recorded {
    const char* folder;
    const char* name;     // how the files begin
    const char* zone;     // of a file with several
    std::size_t allowed;  // figures that do not fit, as printed
};

std::vector<TraceSeries> read_series(const Recorded& recorded, const fs::path& data,
                                     Duration& sampling) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(data / recorded.folder)) {
        if (entry.path().filename().string().starts_with(recorded.name)) {
            files.push_back(entry.path());
        }
    }
    std::ranges::sort(files);
    std::vector<TraceSeries> series;
    for (const fs::path& file : files) {
        ReadOptions options;
        options.zone = recorded.zone;
        const Trace trace = read_trace(file, options);
        sampling = std::max(sampling, trace.report.sampling);
        for (TraceSeries one : trace.series) {
            if (one.zone.empty()) one.zone = trace.name.substr(0, trace.name.find('_'));
            series.push_back(std::move(one));
        }
    }
    return series;
}

}  // namespace

TEST_CASE("market fit: mixtures of two waits are found again, also when some were cut short",
          "[fit][property]") {
    RandomStream random(1, "test/fit");
    std::vector<double> ended;
    std::vector<double> cut;
    for (int i = 0; i < 20'000; ++i) {
        const double wait = random.exponential(random.chance(0.7) ? 0.5 : 8);
        const double limit = random.exponential(20);
        if (wait <= limit) {
            ended.push_back(wait);
        } else {
            cut.push_back(limit);
        }
    }
    const ShortOrLong fit = fit_short_or_long(ended, cut);
    CHECK(fit.short_share == Approx(0.7).margin(0.03));
    CHECK(fit.short_h_mean == Approx(0.5).epsilon(0.06));
    CHECK(fit.long_h_mean == Approx(8).epsilon(0.06));
    const std::vector<double> few{1, 2, 3};
    CHECK(fit_short_or_long(few, {}).long_h_mean == Approx(2));
}

TEST_CASE("market fit: a generated market is fitted by one that behaves the same", "[fit]") {
    for (const char* name : {"v100-16-burst", "v100-1-scarce", "h100-16-launch"}) {
        CAPTURE(name);
        const auto recorded = generate_market(shipped(name), 21, 3, days(120));
        FitOptions options;
        options.name = "again";
        options.source = name;
        options.sampling = shipped(name).sampling;
        const MarketFit fit = fit_market(recorded, {}, options);
        const auto figures =
            compare_availability(recorded, generate_market(fit.parameters, 5, 3, days(400)));
        CAPTURE(describe(figures));
        CHECK(misfits(figures) == 0);
        CHECK_FALSE(fit.parameters.daily.depth > 0);  // zones that say no start have no hours
    }
}

TEST_CASE("market fit: runs of short records are compared with runs of windows as short", "[fit]") {
    // Machines come and go without memory, up 20 h and down 1 h in the mean, in records of a day.
    std::mt19937_64 random(1);  // NOLINT: the same in every run
    const auto wait_h = [&](double mean_h) {
        return -mean_h * std::log(1 - static_cast<double>(random() >> 11U) * 0x1p-53);
    };
    std::vector<TraceSeries> recorded(100);
    for (TraceSeries& one : recorded) {
        AvailabilitySeries& series = one.availability.emplace();
        std::int32_t held = wait_h(1) < 3 ? 1 : 0;  // up 20 times of 21
        series.end = Instant::at(days(1));
        for (double at_h = 0; at_h < 24; held = 1 - held) {
            series.steps.push_back({Instant::at(ukemi::seconds(at_h * 3600)), held});
            at_h += wait_h(held == 1 ? 20 : 1);
        }
    }
    FitOptions options;
    options.name = options.source = "short";
    options.sampling = minutes(1);
    const MarketFit fit = fit_market(recorded, {}, options);
    const auto figures = compare_availability(
        recorded, generate_market(fit.parameters, 1, 16, length_to_compare(recorded, 16)));
    INFO(describe(figures));
    CHECK(figure(figures, "median run with any, h").fits());
    CHECK(figure(figures, "90 % run with any, h").fits());
    CHECK(figure(figures, "median run with none, h").fits());
    CHECK(figure(figures, "90 % run with any, h").generated < 24);
}

TEST_CASE("market fit: recorded bursts are met, and independent losses are told apart",
          "[fit][recorded]") {
    const auto data = recorded_data();
    const Recorded all[] = {
        {"skynomad/v100_aws_multinode/16-nodes", "us-west-2c", "", 0},
        {"skynomad/v100_aws_multinode/16-nodes", "us-east-2b", "", 1},
        {"skynomad/v100_aws_multinode/4-nodes-real-preemption", "us-east-1f", "", 1},
        {"skynomad/h100_gcp_16node", "probe_counts", "us-central1-c", 3},
        {"skynomad/h100_gcp_16node", "probe_counts", "us-east4-a", 3},
        {"bamboo", "p3-trace", "", 1},
    };
    for (const Recorded& recorded : all) {
        CAPTURE(recorded.folder, recorded.name, recorded.zone);
        Duration sampling;
        const auto series = read_series(recorded, *data, sampling);
        if (series.empty()) continue;  // kept back
        FitOptions options;
        options.sampling = sampling;
        options.name = options.source = recorded.name;
        const MarketFit fit = fit_market(series, {}, options);
        const auto figures =
            compare_availability(series, generate_market(fit.parameters, 5, 4, days(200)));
        INFO(describe(figures));
        CHECK(misfits(figures) <= recorded.allowed);
        for (const ComparedFigure& each : figures) {
            if (each.fits()) continue;
            WARN(fmt::format("{} {}: {} does not fit: {:.3g}, not from {:.3g} to {:.3g}",
                             recorded.name, recorded.zone, each.name, each.generated, each.low,
                             each.high));
        }
        // The same test with the bursts switched off fails, by the size of what is lost at once.
        const double burst_mean = figure(figures, "instances a loss takes").recorded;
        const auto apart = compare_availability(
            series, generate_market(without_bursts(fit.parameters, burst_mean), 5, 4, days(200)));
        INFO(describe(apart));
        CHECK(misfits(apart) > recorded.allowed);
        CHECK((burst_mean < 1.4 || !figure(apart, "instances a loss takes").fits()));
        CHECK_FALSE(figure(apart, "losses an hour").fits());
    }
}

TEST_CASE("market fit: zones of a region lose together, zones of two regions do not",
          "[fit][recorded]") {
    const auto data = recorded_data();
    Duration sampling;
    const auto zones =
        read_series({"skynomad/v100_aws_1node_avail", "us-west-2", "", 0}, *data, sampling);
    REQUIRE(zones.size() >= 2);
    FitOptions options;
    options.name = "us-west-2";
    options.source = "SkyNomad's V100 samples";
    options.sampling = sampling;
    const MarketFit fit = fit_market(zones, {}, options);
    CHECK(fit.parameters.shared.per_day > 0);
    CHECK(fit.parameters.shared.zones_per_region == static_cast<std::int32_t>(zones.size()));
    CHECK(fit.parameters.daily.depth > 0.2);  // losses are more frequent at some hours there
    const auto made = generate_market(fit.parameters, 5, 4, days(400));
    const auto figures = compare_availability(zones, {made.data(), 2});
    for (const ComparedFigure& each : figures) {
        if (!each.fits()) WARN(fmt::format("us-west-2: {} does not fit", each.name));
    }
    CHECK(misfits(figures) <= 3);
    // Four zones are two regions: the first two go together, the first and the third do not.
    const std::vector<TraceSeries> same{made[0], made[1]};
    const std::vector<TraceSeries> other{made[0], made[2]};
    CHECK(*mean_correlation(same) > 0.1);
    CHECK(std::abs(*mean_correlation(other)) < 0.06);
}

TEST_CASE("market fit: prices of the bidding era and of today", "[fit][price][recorded]") {
    const auto data = recorded_data();
    struct Prices {
        Recorded files;
        double usd_on_demand;
        std::size_t allowed;
    };
    for (const Prices& each :
         {Prices{{"aws_spot_2015_g2", "us-east-1", "", 0}, 0.65, 1},
          Prices{{"aws_spot_2016_g2_8x", "g2.8xlarge", "", 0}, 2.6, 2},
          Prices{{"normalized/price", "aws-v100x1-2023feb-us-west-2", "", 0}, 3.06, 0}}) {
        CAPTURE(each.files.folder);
        if (!fs::exists(*data / each.files.folder)) {
            WARN("left out: no recorded data: " << each.files.folder);
            continue;
        }
        Duration sampling;
        const auto series = read_series(each.files, *data, sampling);
        FitOptions options;
        options.name = options.source = each.files.folder;
        options.usd_on_demand = each.usd_on_demand;
        const MarketFit fit = fit_market(series, {}, options);
        const auto figures = compare_prices(
            series, generate_market(fit.parameters, 5, 4, days(200)), each.usd_on_demand);
        INFO(describe(figures));
        CHECK(misfits(figures) <= each.allowed);
        for (const ComparedFigure& one : figures) {
            if (one.fits()) continue;
            WARN(fmt::format("{}: {} does not fit: {:.3g}, recorded {:.3g}", each.files.folder,
                             one.name, one.generated, one.recorded));
        }
        const bool bidding = each.usd_on_demand < 3;
        CHECK((fit.parameters.price->spikes_per_day > 0) == bidding);
    }
}

TEST_CASE("market file: what is written reads back equal", "[fit][market_file]") {
    for (const MarketParameters& parameters : all_market_parameters()) {
        CAPTURE(parameters.name);
        const std::string text = to_json(parameters);
        const MarketParameters again = read_market_parameters_text(text, "m.json");
        CHECK(to_json(again) == text);
        const auto before = generate_market(parameters, 3, 2, days(20));
        const auto after = generate_market(again, 3, 2, days(20));
        CHECK(before[1].availability == after[1].availability);
        CHECK(before[1].price == after[1].price);
    }
    MarketParameters full = shipped("v100-16-burst");
    full.quiet_after_none = ShortOrLong{0.5, 1, 2};
    full.daily = {0.3, 17.5};
    full.shared = {3, 1.5, 0.5, 2};
    full.lifetimes = {0.45, 1, 0.8, 24};
    CHECK(to_json(read_market_parameters_text(to_json(full), "m.json")) == to_json(full));
}

TEST_CASE("market file: what the generator cannot work with is refused by its path",
          "[fit][market_file][refusal]") {
    const std::string good = to_json(shipped("v100-16-burst"));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        REQUIRE(text.find(from) != std::string::npos);
        return text.replace(text.find(from), from.size(), to);
    };
    const auto refused = [](const std::string& text) -> std::string {
        try {
            read_market_parameters_text(text, "m.json");
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(refused(with("\"capacity\": 16", "\"capacity\": 0")), Contains("/capacity"));
    CHECK_THAT(refused(with("\"5 min\"", "\"5 us\"")), Contains("/sampling"));
    CHECK_THAT(refused(with("\"short_share\": 0.78", "\"short_share\": 1.5")),
               Contains("/quiet/short_share"));
    CHECK_THAT(refused(with("\"capacity\"", "\"capacty\"")), Contains("capac"));
    CHECK_THAT(refused(with("\"usd_max\": 1.1", "\"usd_max\": 0.1")), Contains("/price/usd_max"));
    CHECK_THAT(refused("{}"), Contains("missing key \"name\""));
    MarketParameters without_price = shipped("v100-16-burst");
    without_price.price.reset();
    CHECK(refused(to_json(without_price)).empty());
    without_price.price.emplace();  // every price zero: what is free is no market
    CHECK_THAT(refused(to_json(without_price)), Contains("/price/usd_mean: expected more than 0"));
}
