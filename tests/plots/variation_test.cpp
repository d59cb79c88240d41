// variation_test.cpp — what a varied number does: the numbers drawn, the axes, the panels.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "plots/figures.hpp"
#include "plots/gnuplot.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/plots/without_gnuplot.hpp"

namespace ukemi {
namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// Two policies at 5, 10 and 160 min; the second has runs that were late.
plots::FigureInput two_lines() {
    plots::FigureInput input;
    plots::VariationInput& figure = input.variations.emplace_back();
    figure.title = "cost and time against checkpoint interval";
    figure.axis = "checkpoint interval (min)";
    figure.column = "checkpoint_interval_min";
    figure.intervals_over = "6 zones (72 windows)";
    figure.quantities = {{"cost", "cost (USD)", "cost_usd"}, {"time", "time (h)", "duration_h"}};
    figure.columns = {""};
    figure.lines = {
        {"greedy",
         0,
         {{5, {{40, std::pair(35.5, 44.5)}, {60}}, 0},
          {10, {{30, std::pair(25.0, 35.0)}, {55}}, 0},
          {160, {{42, std::pair(30.0, 54.0)}, {61}}, 0}}},
        {"spot_only", 0, {{5, {{20}, {90}}, 0.25}, {160, {{28}, {95}}, 1}}},
    };
    return input;
}

}  // namespace

TEST_CASE("variation: a row a point, with its interval where there is one", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_variation(two_lines(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("variation.csv") ==
          "line,checkpoint_interval_min,cost_usd_mean,cost_usd_low_95,cost_usd_high_95,"
          "duration_h_mean,duration_h_low_95,duration_h_high_95,missed_share,policy,variant\n"
          "0,5,40,35.5,44.5,60,,,0,greedy,\n0,10,30,25,35,55,,,0,greedy,\n"
          "0,160,42,30,54,61,,,0,greedy,\n"
          "1,5,20,,,90,,,0.25,spot_only,\n1,160,28,,,95,,,1,spot_only,\n");
}

TEST_CASE("variation: the axis is logarithmic where the numbers span decades", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    plots::draw_variation(input, folder.path(), without_gnuplot());
    std::string script = folder.text_of("variation.gp");
    CHECK(has(script, "set logscale x\n"));
    CHECK(has(script, "set xtics (5, 10, 160)"));
    CHECK(has(script, "axis_text = 'checkpoint interval (min)'\n"));
    CHECK(has(script, "title 'mean, 95 % over 6 zones'"));
    CHECK(has(script, "title 'some late or unfinished'"));
    for (plots::VariationLine& line : input.variations[0].lines) {
        line.points.back().at = 90;
        for (plots::VariationPoint& point : line.points) point.missed_share = 0;
    }
    plots::draw_variation(input, folder.path(), without_gnuplot());
    script = folder.text_of("variation.gp");
    CHECK_FALSE(has(script, "set logscale x"));
    CHECK_FALSE(has(script, "some late"));
}

TEST_CASE("variation: a second variation has columns, and --only leaves quantities", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    input.variations[0].columns = {"count 1", "count 8"};
    input.variations[0].lines[1].column = 1;
    plots::FigureOptions options = without_gnuplot();
    plots::draw_variation(input, folder.path(), options);
    const auto panels = [&] {
        const std::string script = folder.text_of("variation.gp");
        std::size_t count = 0;
        for (std::size_t at = 0; (at = script.find("    plot ", at)) != std::string::npos; ++at) {
            ++count;
        }
        return count;
    };
    CHECK(panels() == 4);
    CHECK(has(folder.text_of("variation.gp"), "columns[2] = 'count 8'"));
    options.style.only = {"time"};
    plots::draw_variation(input, folder.path(), options);
    CHECK(panels() == 2);
    CHECK_FALSE(has(folder.text_of("variation.gp"), "cost (USD)"));
    options.style.only = {"cost_by_cause"};
    CHECK(plots::draw_variation(input, folder.path(), options).files.empty());
}

TEST_CASE("variation: hours are shown in the unit that suits them", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::VariationInput& figure = input.variations.emplace_back();
    figure.axis = figure.column = "time";
    figure.hours = true;
    figure.quantities = {
        {.panel = "held", .axis = "GPU time", .column = "gpu_time", .hours = true}};
    figure.columns = {""};
    // 1.8 s and 3.6 s on the axis, 5 min to 10 min on the other.
    figure.lines = {
        {"one", 0, {{0.0005, {{1.0 / 12}}}, {0.001, {{1.0 / 6, std::pair(0.1, 0.2)}}}}}};
    plots::draw_variation(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("variation.csv") ==
          "line,time_s,gpu_time_min_mean,gpu_time_min_low_95,gpu_time_min_high_95,missed_share,"
          "policy,variant\n0,1.8,5,,,0,one,\n0,3.6,10,6,12,0,one,\n");
    CHECK(has(folder.text_of("variation.gp"), "axis_text = 'time (s)'\n"));
    CHECK(has(folder.text_of("variation.gp"), "'GPU time (min)'"));
}

TEST_CASE("variation: axes reach as far as intervals, or a mark says that these go on",
          "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    plots::VariationLine& greedy = input.variations[0].lines[0];
    const auto script_with = [&](double low, double high) {
        greedy.points[2].values[0].interval_95 = {low, high};
        plots::draw_variation(input, folder.path(), without_gnuplot());
        return folder.text_of("variation.gp");
    };
    const auto range_in = [](const std::string& script) {
        const std::size_t at = script.find("set yrange [") + 12;
        const std::size_t colon = script.find(':', at);
        return std::pair(std::stod(script.substr(at)), std::stod(script.substr(colon + 1)));
    };
    // Means from 20 to 42: an interval of twice their reach is there as a whole, below zero, too.
    for (const auto& [low, high] : {std::pair(30.0, 84.0), std::pair(-20.0, 60.0)}) {
        const std::string script = script_with(low, high);
        CHECK(range_in(script).first < low);
        CHECK(range_in(script).second > high);
        CHECK_FALSE(has(script, "interval goes on"));
    }
    const std::string cut = script_with(41, 4000);
    CHECK(range_in(cut).second > 42 + 4 * (42 - 20));
    CHECK(range_in(cut).second < 400);
    CHECK(has(cut, "title 'interval goes on'"));
    CHECK(has(cut, "$5 > "));
}

TEST_CASE("variation: what no axis can show is refused", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    input.variations[0].lines[0].points[1].values[1].mean =
        std::numeric_limits<double>::quiet_NaN();
    CHECK(plots::draw_variation(input, folder.path(), without_gnuplot()).problem ==
          "variation: a value of greedy is not finite");
    input = two_lines();
    input.variations[0].lines[0].points[1].at = 5;
    CHECK(plots::draw_variation(input, folder.path(), without_gnuplot()).problem ==
          "variation: points must be finite and in order");
    CHECK(plots::draw_variation({}, folder.path(), without_gnuplot()).problem ==
          "variation: there is nothing to draw");
}

TEST_CASE("variation: what was published has the colour and the shape of its line", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    input.variations[0].lines[1].points[0].values[0].published = 25;
    plots::draw_variation(input, folder.path(), without_gnuplot());
    const std::string table = folder.text_of("variation.csv");
    CHECK(has(table, "cost_usd_high_95,cost_usd_published,duration_h_mean"));
    CHECK(has(table, "\n1,5,20,,,25,90,,,,0.25,spot_only,\n"));
    const std::string script = folder.text_of("variation.gp");
    CHECK(has(script, "published[1] = 'published'\n"));
    CHECK(has(script, "title published[1]"));
    CHECK(
        has(script, "every ::3::4 using 2:3 with linespoints lt 1 dt (14,3,2,3,2,3) lw 1.8 pt 5 "));
    CHECK(has(script, "every ::3::3 using 2:6 with points pt 4 ps 1.7"));
    CHECK(has(script, "every ::0::2 using 2:3 with linespoints lt 1 dt 1 lw 1.8 pt 7 "));
}

TEST_CASE("variation: what nobody published has a mark and a key of its own", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    input.variations[0].published_as = {"published", "a `formula`"};
    auto& points = input.variations[0].lines[0].points;
    for (plots::VariationPoint& point : points) point.values[0].published = 25;
    points[1].values[0].published_as = 1;
    plots::draw_variation(input, folder.path(), without_gnuplot());
    const std::string script = folder.text_of("variation.gp");
    CHECK(has(script, "published[2] = 'a `formula`'\n"));
    for (const char* mark :
         {"::0::0 using 2:6 with points pt 6", "::2::2 using 2:6 with points pt 6",
          "::1::1 using 2:6 with points pt 1"}) {
        CAPTURE(mark);
        CHECK(has(script, mark));
    }
    CHECK(has(script, "NaN with points pt 1 ps 1.7 lw 1.4 lc rgb '#000000' title published[2]"));
    input.variations[0].published_as.resize(4);
    CHECK(plots::draw_variation(input, folder.path(), without_gnuplot()).problem ==
          "variation: published values are of too many kinds");
}

TEST_CASE("variation: what was given is hollow, and keys say what is simulated", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    plots::VariationInput& figure = input.variations[0];
    figure.simulated = true;
    figure.lines[0].points[0].values[0].given = figure.lines[0].points[1].values[0].given = true;
    figure.lines[1].published = true;
    plots::draw_variation(input, folder.path(), without_gnuplot());
    const std::string script = folder.text_of("variation.gp");
    CHECK(has(script, "::0::1 using 2:3 with points pt 7 ps 0.4 lc rgb 'white'"));
    CHECK(has(script, "NaN with points pt 7 ps 0.8 lc rgb '#000000' title 'simulated'"));
    CHECK(has(script,
              "NaN with points pt 6 ps 0.7 lw 1.2 lc rgb '#000000' title 'typed in or "
              "fitted'"));
    // A whole line that was published has rings, in its key, too.
    CHECK(has(script, "::3::4 using 2:3 with linespoints lt 1 dt (14,3,2,3,2,3) pt 4 ps 1.7"));
    CHECK(has(script, "lt 1 dt (14,3,2,3,2,3) pt 4 ps 1.7 lw 1.4 lc rgb '#56b4e9' title names[2]"));
    plots::draw_variation(two_lines(), folder.path(), without_gnuplot());
    CHECK_FALSE(has(folder.text_of("variation.gp"), "simulated"));
}

TEST_CASE("variation: all keys have room, and what is not shown is said", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    plots::VariationInput& figure = input.variations[0];
    for (int i = 0; i < 30; ++i) {
        figure.lines.push_back(figure.lines[0]);
        figure.lines.back().policy = "a policy with a name " + std::to_string(i);
    }
    plots::FigureOptions options = without_gnuplot();
    plots::draw_variation(input, folder.path(), options);
    CHECK(has(
        folder.text_of("variation.gp"),
        "title_lines[1] = 'cost and time against checkpoint interval; the first 12 of 32 lines'"));
    figure.quantities.pop_back();
    for (plots::VariationLine& line : figure.lines) {
        for (plots::VariationPoint& point : line.points) point.values.pop_back();
    }
    figure.title.clear();
    plots::draw_variation(input, folder.path(), options);
    std::string script = folder.text_of("variation.gp");
    // 12 lines, intervals and crosses.
    const std::size_t size = script.find("dynamic");
    CHECK(std::stoi(script.substr(script.rfind(',', size) + 1)) >= 14 * 19);
    CHECK(has(script, "left top horizontal maxcols 1 "));
    options.style.width_in = 3.3;
    plots::draw_variation(input, folder.path(), options);
    script = folder.text_of("variation.gp");
    CHECK(has(script, "left top horizontal maxcols 1 "));
}

TEST_CASE("variation: steps of many places have a few marks as their keys do", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    plots::VariationInput& figure = input.variations[0];
    figure.steps = true;
    figure.lines.resize(1);
    figure.lines[0].points.clear();
    for (int i = 0; i < 140; ++i) {
        figure.lines[0].points.push_back({static_cast<double>(i), {{30}, {60}}, 0});
    }
    plots::draw_variation(input, folder.path(), without_gnuplot());
    CHECK(has(folder.text_of("variation.gp"),
              "every 20::0::139 using 2:3 with points lw 1.8 pt 7 ps 0.8"));
}

TEST_CASE("variation: an axis over three decades of values is logarithmic", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    CHECK((plots::draw_variation(input, folder.path(), without_gnuplot()),
           !has(folder.text_of("variation.gp"), "    set logscale y")));
    plots::VariationLine& line = input.variations[0].lines[0];
    line.points[0].values[0] = {0.004};
    plots::draw_variation(input, folder.path(), without_gnuplot());
    CHECK(has(folder.text_of("variation.gp"), "    set logscale y"));
}

TEST_CASE("variation: places may have names of their own", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    input.variations[0].tics = {{5, "5min"}, {10, "10min"}, {160, "160`min"}};
    plots::draw_variation(input, folder.path(), without_gnuplot());
    const std::string script = folder.text_of("variation.gp");
    CHECK(has(script, "tics[3] = '160`min'\n"));
    CHECK(has(script, "    set xtics ('' 5, '' 10, '' 160)"));  // the upper panel
    CHECK(has(script, "    set xtics (tics[1] 5, tics[2] 10, tics[3] 160)"));
}

TEST_CASE("variation: tics that have no room are left out, evenly but for the last", "[figures]") {
    const auto tics_of = [](const std::vector<double>& values, bool log_scale, double pixels) {
        const plots::AxisRange range{values.front(), values.back()};
        return plots::tics_at(values, range, log_scale, pixels);
    };
    std::vector<double> fives;
    for (int i = 0; i <= 20; ++i) fives.push_back(5 * i);
    CHECK(tics_of(fives, false, 2000) != tics_of(fives, false, 400));
    CHECK(has(tics_of(fives, false, 400), "(0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)"));
    std::vector<double> hours;
    for (int i = 0; i <= 23; ++i) hours.push_back(i);
    CHECK(has(tics_of(hours, false, 300), "(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 23)"));
    CHECK(has(tics_of({256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}, true, 300),
              "(256, 1024, 4096, 16384, 65536)"));
    std::vector<double> powers;
    for (int i = 0; i <= 14; ++i) powers.push_back(std::pow(2.0, i));
    CHECK(has(tics_of(powers, true, 260), "(1, 8, 64, 512, 16384)"));
    CHECK(has(tics_of({1, 2, 4, 6, 8, 64}, false, 300), ", 64)"));
    fives.insert(fives.begin() + 1, 1);  // of a course with a place of its own
    CHECK(has(tics_of(fives, false, 400), "set xtics 20 nomirror"));
}

TEST_CASE("variation: names of places do not overprint each other", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    plots::VariationInput& figure = input.variations[0];
    figure.axis = "an axis with a name that is much longer than a column";
    figure.lines.resize(1);
    figure.lines[0].points.clear();
    for (int i = 0; i < 33; ++i) {
        figure.places.push_back("place " + std::to_string(i));
        figure.lines[0].points.push_back({static_cast<double>(i), {{30}, {60}}, 0});
    }
    plots::FigureOptions options = without_gnuplot();
    CHECK(plots::draw_variation(input, folder.path(), options).notes.empty());
    CHECK(has(folder.text_of("variation.gp"), "set label 301 places[2] at first 1,"));
    options.style.width_in = 3.3;
    const plots::FigureResult narrow = plots::draw_variation(input, folder.path(), options);
    REQUIRE(narrow.notes.size() == 1);
    CHECK(narrow.notes[0] == "variation: one of 3 places has its name, for want of room");
    const std::string script = folder.text_of("variation.gp");
    CHECK_FALSE(has(script, "places[2] at first"));
    CHECK(has(script, "places[4] at first 3,"));
    const std::size_t begin = script.find("axis_text = '") + 13;
    CHECK(script.find('\'', begin) - begin < 40);
}

TEST_CASE("variation: names on the axis, and values that hold until the next", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_lines();
    input.variations[0].steps = true;
    plots::draw_variation(input, folder.path(), without_gnuplot());
    CHECK(has(folder.text_of("variation.gp"), "using 2:3 with steps"));
    input.variations[0].steps = false;
    input.variations[0].places = {"none", "it's `all`"};
    for (plots::VariationLine& line : input.variations[0].lines) {
        line.points.resize(2);
        line.points[0].at = 0;
        line.points[1].at = 1;
    }
    plots::draw_variation(input, folder.path(), without_gnuplot());
    const std::string script = folder.text_of("variation.gp");
    CHECK(has(script, "set xrange [-0.5:1.5]\n"));
    CHECK(has(script, "places[1] = 'none'\n"));
    CHECK(has(script, "label 301 places[2] at first 1,"));
    CHECK_FALSE(has(script, "set logscale x"));
    CHECK_FALSE(has(script, "linespoints"));
    // What tells two of them apart may stand in their middles.
    const std::string begin(30, 'b');
    const std::string end(30, 'e');
    input.variations[0].places = {begin + "1" + end, begin + "2" + end};
    plots::draw_variation(input, folder.path(), without_gnuplot());
    const std::string long_names = folder.text_of("variation.gp");
    CHECK(has(long_names, "places[1] = 'bbbbbbbbbbbbbbbbbbbb…eeeeeeeeeeeeeeeeeee'\n"));
    CHECK(has(long_names, "places[2] = 'bbbbbbbbbbbbbbbbbb…eeeeeeeeeeeeeeeee (2)'\n"));
}

TEST_CASE("variation: numbers of an axis have room beside its name", "[figures]") {
    const auto left_of = [](double factor) {
        plots::FigureInput input = two_lines();
        for (plots::VariationLine& line : input.variations[0].lines) {
            for (plots::VariationPoint& point : line.points) {
                point.values[0] = {factor * point.values[0].mean};
            }
        }
        const ScratchFolder folder;
        plots::draw_variation(input, folder.path(), without_gnuplot());
        const std::string script = folder.text_of("variation.gp");
        constexpr std::string_view margin = "set lmargin at screen ";
        const std::size_t at = script.find(margin);
        REQUIRE(at != script.npos);
        return 760 * std::stod(script.substr(at + margin.size()));  // pixels
    };
    CHECK(left_of(1) == Approx(70));     // up to 40
    CHECK(left_of(100) > 75);            // up to 4000
    CHECK(left_of(100) < left_of(1e4));  // up to 400000
    CHECK(left_of(1e-4) > 75);           // up to 0.004
}

}  // namespace ukemi
