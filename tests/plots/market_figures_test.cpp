// market_figures_test.cpp — markets over time, lifetimes, and losses by the hour of the day.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <limits>

#include "plots/figures.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/plots/without_gnuplot.hpp"

namespace ukemi {
namespace {

const std::vector<std::string> odd_names = {"under_score",
                                            "it's",
                                            "`touch pwned`",
                                            "100 %d %s",
                                            "a\n!touch pwned\n",
                                            "';system('touch pwned');'",
                                            "{/Bold x}^2_3",
                                            "\xff\xfe",
                                            "",
                                            "Zürich 東京",
                                            "@pwned"};

plots::MarketZone zone_of(std::string name) {
    return {std::move(name), {{0, 2}, {3, 0}}, {{0, 0.5}, {1, 0.75}}, 0, 5};
}

plots::SurvivalInput survival_of(std::vector<plots::SurvivalCurve> curves) {
    plots::SurvivalInput input;
    input.title = "how long it lasted";
    input.time_axis = "time";
    input.curves = std::move(curves);
    return input;
}

bool drawable_here() {
    if (!gnuplot_is_here()) WARN("skipped: gnuplot is not installed");
    return gnuplot_is_here();
}

}  // namespace

TEST_CASE("market_over_time: a row a step, and the last value until the zone ends",
          "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::MarketInput& market = input.markets.emplace_back();
    market.zones = {zone_of("east"), {"west", {{1, 1}, {4, 3}}, {}, 1, 4}};
    plots::draw_market_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("market_over_time_instances.csv") ==
          "zone_number,t_h,instances,zone\n"
          "1,0,2,east\n1,3,0,east\n1,5,0,east\n2,1,1,west\n2,4,3,west\n");
    CHECK(folder.text_of("market_over_time_price.csv") ==
          "zone_number,t_h,usd_per_instance_hour,zone\n"
          "1,0,0.5,east\n1,1,0.75,east\n1,5,0.75,east\n");
    const std::string script = folder.text_of("market_over_time.gp");
    CHECK(script.find("skip 1 every ::0::2") != std::string::npos);  // the three rows of the east
    CHECK(script.find("skip 1 every ::3::4") != std::string::npos);
}

TEST_CASE("market_over_time: one zone, prices alone, and more zones than there is room for",
          "[figures]") {
    if (!drawable_here()) return;
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::MarketInput market;
    market.zones = {zone_of("one")};
    market.file_stem = "one";
    input.markets.push_back(market);
    market.zones = {{"prices", {}, {{0, 1}}, 0, 1}};
    market.file_stem = "prices";
    input.markets.push_back(market);
    market.zones = {{"nothing to have", {{0, 0}}, {}, 0, 0}};  // no length, nothing to hold
    market.file_stem = "nothing";
    input.markets.push_back(market);
    market.zones.assign(30, zone_of("many"));
    market.file_stem = "many";
    input.markets.push_back(market);
    const plots::FigureResult result = plots::draw_market_over_time(input, folder.path());
    CHECK(result.problem.empty());
    CHECK(folder.text_of("many.gp").find("(the first 24 of 30 zones)") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "prices_instances.csv"));
}

TEST_CASE("lifetimes: curves fall from one", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.survivals = {survival_of(
        {{"east", false, {{0.5, 0.75}, {2, 0.25}}}, {"law of v100", true, {{1, 0.5}, {24, 0}}}})};
    input.survivals[0].log_time = false;
    plots::draw_lifetimes(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("lifetimes.csv") ==
          "curve,hours,share_alive,kind,name\n"
          "1,0,1,recorded,east\n1,0.5,0.75,recorded,east\n1,2,0.25,recorded,east\n"
          "2,0,1,generated,law of v100\n2,1,0.5,generated,law of v100\n"
          "2,24,0,generated,law of v100\n");
    CHECK(folder.text_of("lifetimes.gp").find("'generated: law of v100'") != std::string::npos);
    CHECK(folder.text_of("lifetimes.gp").find("logscale") == std::string::npos);
}

TEST_CASE("lifetimes: an axis is logarithmic where the times span decades", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.survivals = {survival_of({{"law", true, {{0.1, 0.75}, {2, 0.25}}}})};
    plots::draw_lifetimes(input, folder.path(), without_gnuplot());
    // 0.1 h to 2 h: twenty times as long; the axis begins at half of the first, in minutes.
    CHECK(folder.text_of("lifetimes.gp").find("set logscale x\nset xrange [3:") !=
          std::string::npos);
    input.survivals[0].curves[0].alive[0].first = 0.2;
    plots::draw_lifetimes(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("lifetimes.gp").find("logscale") == std::string::npos);
}

TEST_CASE("lifetimes: a logarithmic axis begins before the first loss", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.survivals = {survival_of({{"east", false, {{0, 0.9}, {0.5, 0.75}}}})};
    input.survivals[0].log_time = true;
    plots::draw_lifetimes(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("lifetimes.csv") ==
          "curve,hours,share_alive,kind,name\n"
          "1,0.25,1,recorded,east\n1,0.25,0.9,recorded,east\n1,0.5,0.75,recorded,east\n");
    CHECK(folder.text_of("lifetimes.gp").find("set logscale x\n") != std::string::npos);
}

TEST_CASE("losses_by_hour: a row an hour and source", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.hourly_losses = {{"east", false, {}}, {"law", true, {}}};
    input.hourly_losses[0].share_of_days[23] = 0.5;
    input.hourly_losses[1].share_of_days.fill(0.25);
    plots::draw_losses_by_hour(input, folder.path(), without_gnuplot());
    const std::string text = folder.text_of("losses_by_hour.csv");
    CHECK(text.starts_with("source,hour_utc,share_of_days,kind,name\n1,0,0,recorded,east\n"));
    CHECK(text.find("\n1,23,0.5,recorded,east\n2,0,0.25,generated,law\n") != std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 49);
}

TEST_CASE("market figures: odd names are drawn as text and run nothing", "[figures]") {
    if (!drawable_here()) return;
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::MarketInput& market = input.markets.emplace_back();
    for (const std::string& name : odd_names) {
        market.zones.push_back(zone_of(name));
        market.title += name;
        market.time_axis = name;
        plots::SurvivalInput& survival = input.survivals.emplace_back(
            survival_of({{name, false, {{1, 0.5}}}, {name, true, {{2, 0}}}}));
        survival.title = survival.time_axis = name;
        survival.file_stem = fmt::format("lifetimes-{}", input.survivals.size());
    }
    for (std::size_t name = 0; name + 1 < odd_names.size(); name += 3) {
        input.hourly_losses.push_back({odd_names[name], name % 2 == 0, {}});
    }
    for (const plots::Figure& figure : plots::all_figures()) {
        if (!figure.has_input(input)) continue;
        CAPTURE(figure.name);
        CHECK(figure.draw(input, folder.path(), {}).problem.empty());
    }
    CHECK_FALSE(std::filesystem::exists(folder.path() / "pwned"));
    CHECK(folder.text_of("market_over_time.svg").find("`touch pwned`") != std::string::npos);
}

TEST_CASE("market figures: wrong numbers are refused with a sentence", "[figures]") {
    const double wrong =
        GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
    CAPTURE(wrong);
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::MarketInput& market = input.markets.emplace_back();
    CHECK(plots::draw_market_over_time(input, folder.path()).problem ==
          "market_over_time: there is no zone to draw");
    market.zones = {zone_of("east")};
    market.zones[0].price[1].second = wrong;
    CHECK(plots::draw_market_over_time(input, folder.path()).problem ==
          "market_over_time: points must be finite and in order of time");
    market.zones = {{"empty", {}, {}, 0, 1}};
    CHECK(plots::draw_market_over_time(input, folder.path()).problem ==
          "market_over_time: a zone has nothing to draw");
    market.file_stem = "../x";
    CHECK(plots::draw_market_over_time(input, folder.path()).problem ==
          "../x: the file stem must be letters, digits, '_' and '-'");
    input.survivals = {survival_of({{"rises", false, {{1, 0.5}, {2, 0.6}}}})};
    CHECK(plots::draw_lifetimes(input, folder.path()).problem ==
          "lifetimes: a share that lasted must fall from one, at times from zero");
    input.survivals = {survival_of({{"odd", false, {{wrong, 0.5}}}})};
    CHECK_FALSE(plots::draw_lifetimes(input, folder.path()).problem.empty());
    input.hourly_losses = {{"odd", false, {}}};
    input.hourly_losses[0].share_of_days[3] = wrong;
    CHECK(plots::draw_losses_by_hour(input, folder.path()).problem ==
          "losses_by_hour: a number is negative or not finite");
    CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace ukemi
