// keys_test.cpp — keys are of what a figure has, and colours of whom they name.
#include <catch2/catch.hpp>
#include <string>

#include "plots/figures.hpp"
#include "plots/policy_looks.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/plots/without_gnuplot.hpp"

namespace ukemi {

TEST_CASE("cost_and_time: keys are of what there is", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.runs = {{"steady", "west", 1, 40, 8, true},
                  {"steady", "east", 1, 40, 8, true},
                  {"daring", "west", 1, 10, 9, true},
                  {"daring", "east", 2, 20, 11, false}};
    const auto has_key = [&](const std::string& words) {
        plots::draw_cost_and_time(input, folder.path(), without_gnuplot());
        return folder.text_of("cost_and_time.gp").find("title '" + words) != std::string::npos;
    };
    CHECK(has_key("quartiles'"));
    CHECK(has_key("mean, 95 % "));
    CHECK(has_key("one run, late or unfinished'"));
    CHECK_FALSE(has_key("filled"));
    input.differences = {{"", "steady", "daring", 25, 20, 30, true}};
    CHECK(has_key("filled: p_Holm < 0.05'"));
    for (plots::RunPoint& run : input.runs) run.cluster = 0;
    CHECK(has_key("mean'"));
    input.runs.resize(1);
    CHECK_FALSE(has_key("quartiles'"));
    CHECK_FALSE(has_key("mean"));
    CHECK(has_key("one run'"));
}

TEST_CASE("completion_times: a scheduler has its own colour", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    plots::SurvivalInput& figure = input.completions.emplace_back();
    figure.file_stem = "completion_times";
    figure.simulated = true;
    figure.curves = {{"srtf", false, {{1, 0.5}, {2, 0}}}, {"fifo_skip", false, {{3, 0}}}};
    plots::draw_completion_times(input, folder.path(), without_gnuplot());
    const std::string script = folder.text_of("completion_times.gp");
    for (const char* name : {"srtf", "fifo_skip"}) {
        CAPTURE(name);
        CHECK(script.find(plots::look_of(name).colour) != std::string::npos);
    }
}

}  // namespace ukemi
