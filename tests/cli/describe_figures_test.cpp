// describe_figures_test.cpp — `ukemi describe --out`: what is drawn of recorded markets.
#include <catch2/catch.hpp>

#include "analysis/describe_figures.hpp"
#include "tests/cli/child.hpp"
#include "traces/reader.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

// Two days that begin at noon UTC; none until hour 2, two until hour 5, one until hour 9, none
// until hour 20, then one until the end.
const std::string two_days =
    "# zone=east start=2024-01-01T12:00:00Z duration_s=172800\nt_s,instances\n"
    "0,0\n7200,2\n18000,1\n32400,0\n72000,1\n";

analysis::DescribedMarket described(const std::string& text) {
    traces::Trace trace = traces::read_trace_text(text, "east.csv");
    analysis::DescribedMarket market;
    market.title = market.names.emplace_back(trace.name);
    market.series = std::move(trace.series);
    market.lifetimes = std::move(trace.lifetimes);
    return market;
}

}  // namespace

TEST_CASE("market figures: durations of a record, those that its end cuts off censored",
          "[describe]") {
    const plots::FigureInput input =
        analysis::market_figures(described(two_days), std::nullopt, false);
    REQUIRE(input.survivals.size() == 2);
    // To a loss: 3 h (hour 2 to 5) and 4 h (5 to 9); from hour 20 on nothing was lost for 28 h.
    const plots::SurvivalInput& waits = input.survivals[0];
    CHECK(waits.file_stem == "time_to_loss");
    REQUIRE(waits.curves.size() == 1);
    CHECK(waits.curves[0].name == "east (2 ended, 1 censored)");
    // Kaplan-Meier: 3 at risk at 3 h, 2 at 4 h.
    REQUIRE(waits.curves[0].alive.size() == 2);
    CHECK(waits.curves[0].alive[0].first == 3);
    CHECK(waits.curves[0].alive[0].second == Approx(2.0 / 3));
    CHECK(waits.curves[0].alive[1].first == 4);
    CHECK(waits.curves[0].alive[1].second == Approx(1.0 / 3));
    // With any: 7 h, then 28 h that the record cuts off.
    const plots::SurvivalInput& runs = input.survivals[1];
    CHECK(runs.file_stem == "runs_with_any");
    CHECK(runs.curves[0].alive == plots::PlotPoints{{7, 0.5}});
    // Losses at 17:00 and at 21:00, each on one of two days.
    REQUIRE(input.hourly_losses.size() == 1);
    CHECK(input.hourly_losses[0].name == "east (2 hours with a loss, 2 days, 1 series)");
    CHECK(input.hourly_losses[0].share_of_days[17] == 0.5);
    CHECK(input.hourly_losses[0].share_of_days[21] == 0.5);
    CHECK(input.hourly_losses[0].share_of_days[12] == 0);
}

TEST_CASE("market figures: zones with a calendar stand where they were recorded", "[describe]") {
    analysis::DescribedMarket market = described(two_days);
    analysis::DescribedMarket later =
        described("# zone=west start=2024-01-01T18:00:00Z duration_s=3600\nt_s,instances\n0,3\n");
    market.series.push_back(later.series[0]);
    market.names.emplace_back("west");
    const plots::FigureInput input = analysis::market_figures(market, std::nullopt, false);
    REQUIRE(input.markets.size() == 1);
    CHECK(input.markets[0].time_axis == "time since 2024-01-01T12:00:00Z");
    CHECK(input.markets[0].zones[0].capacity[1] == std::pair{2.0, 2.0});
    CHECK(input.markets[0].zones[1].begin_h == 6);
    CHECK(input.markets[0].zones[1].end_h == 7);
    // Records of different years are no zones of one market.
    market.series[1].start = "2025-01-01T18:00:00Z";
    const plots::FigureInput apart = analysis::market_figures(market, std::nullopt, false);
    CHECK(apart.markets[0].time_axis == "time since each record begins");
    CHECK(apart.markets[0].zones[1].begin_h == 0);
}

TEST_CASE("market figures: a long series is shown by the means of its parts", "[describe]") {
    std::string text = "# duration_s=36000\nt_s,instances\n";
    for (int i = 0; i < 10'000; ++i) text += std::to_string(3 * i) + (i % 2 == 0 ? ",0\n" : ",2\n");
    const plots::FigureInput input = analysis::market_figures(described(text), std::nullopt, false);
    const plots::MarketZone& zone = input.markets.at(0).zones.at(0);
    CHECK(zone.name == "east (means of 0.00625 h)");  // 10 h in 1600 parts
    CHECK(zone.capacity.size() <= 1600);
}

TEST_CASE("market figures: the generated market stands beside the recorded one", "[describe]") {
    const auto parameters = analysis::market_parameters_of("v100-1-scarce", "--market");
    const plots::FigureInput input =
        analysis::market_figures(described(two_days), parameters, true);
    REQUIRE(input.markets.size() == 2);
    CHECK(input.markets[1].file_stem == "market_over_time-generated");
    CHECK(input.markets[1].zones[0].end_h == 48);
    CHECK(input.markets[1].zones[0].price.empty());  // as the recording has none
    for (const plots::SurvivalInput& survival : input.survivals) {
        CHECK(survival.log_time);
        REQUIRE(survival.curves.size() == 2);
        CHECK(survival.curves[1].generated);
        CHECK_THAT(survival.curves[1].name, Catch::StartsWith("v100-1-scarce ("));
    }
    REQUIRE(input.hourly_losses.size() == 2);
    CHECK(input.hourly_losses[1].generated);
}

TEST_CASE("market figures: recorded lifetimes beside the law of the parameters", "[describe]") {
    auto parameters = analysis::market_parameters_of("v100-1-scarce", "--market");
    parameters.lifetimes = {.share = 0.5, .early_h = 1, .late_h = 0.8, .cap_h = 24};
    const plots::FigureInput input = analysis::market_figures(
        described("lifetime_s,preempted,zone\n3600,1,a\n7200,1,a\n7200,0,a\n"), parameters, false);
    REQUIRE(input.survivals.size() == 1);
    REQUIRE(input.survivals[0].curves.size() == 2);
    CHECK(input.survivals[0].curves[0].name == "east (2 ended, 1 censored)");
    CHECK(input.survivals[0].curves[1].name == "lifetime law of v100-1-scarce (cap 24 h)");
    CHECK(input.survivals[0].curves[1].alive.back().first == 24);
    CHECK(input.markets.empty());
}

TEST_CASE("ukemi describe --out: figures beside the statistics", "[cli][describe]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "east.csv", two_days);
    const Ran plain = run_ukemi(scratch.path(), {"describe", "east.csv"});
    const Ran ran = run_ukemi(
        scratch.path(), {"describe", "east.csv", "--out", "figures", "--market", "v100-1-scarce"});
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK(ran.out.starts_with(plain.out));
    for (const char* name : {"market_over_time", "market_over_time-generated", "time_to_loss",
                             "runs_with_any", "losses_by_hour"}) {
        CHECK(fs::exists(scratch.path() / "figures" / (std::string(name) + ".gp")));
    }
    CHECK(names_in(scratch.path()) == Names{"east.csv", "figures"});
}

TEST_CASE("ukemi describe --zones: prices stand with the instances of their zone",
          "[cli][describe]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "a/east.csv", two_days);
    write_file(scratch.path() / "p/east.csv",
               "# start=2024-01-01T13:00:00Z duration_s=7200\nt_s,usd_per_instance_hour\n0,0.5\n");
    const Ran ran = run_ukemi(
        scratch.path(), {"describe", "a/east.csv", "p/east.csv", "--zones", "--out", "figures"});
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("market: 1 zone, 1 with prices of their own\n"));
    CHECK_THAT(text_in(scratch.path() / "figures/market_over_time.gp"),
               Catch::Contains("'time since 2024-01-01T13:00:00Z (h)'") &&
                   Catch::Contains("names[1] = 'east'"));
    CHECK(text_in(scratch.path() / "figures/market_over_time_price.csv") ==
          "zone_number,t_h,usd_per_instance_hour,zone\n1,0,0.5,east\n1,47,0.5,east\n");
}

TEST_CASE("ukemi describe: wrong options about figures are one line", "[cli][describe]") {
    struct Wrong {
        std::vector<std::string> options;
        const char* complaint;
    };
    const Wrong wrong[] = {
        {{"--market", "v100-1-scarce"}, "--market: is about figures: expected --out beside it\n"},
        {{"--log-time"}, "--log-time: is about figures: expected --out beside it\n"},
        {{"--linear-time"}, "--linear-time: is about figures: expected --out beside it\n"},
        {{"--figure-width", "3in"}, "--figure-width: is about figures: expected --out beside it\n"},
        {{"--out", "f", "--market", "v100-1-scarse"},
         "--market: no market \"v100-1-scarse\" (did you mean \"v100-1-scarce\"?)"},
        {{"--out", "f", "--market", "none.json"}, "none.json: "},
        {{"--zones", "--join"}, "--zones: expected one of --join and --zones, found both\n"},
        {{"--out", "east.csv"}, "east.csv: expected a folder, found a file\n"},
    };
    const ScratchFolder scratch;
    write_file(scratch.path() / "east.csv", two_days);
    for (const Wrong& each : wrong) {
        CAPTURE(each.options);
        std::vector<std::string> arguments{"describe", "east.csv"};
        arguments.insert(arguments.end(), each.options.begin(), each.options.end());
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith(std::string("ukemi: ") + each.complaint));
        CHECK(names_in(scratch.path()) == Names{"east.csv"});
    }
}

}  // namespace ukemi
