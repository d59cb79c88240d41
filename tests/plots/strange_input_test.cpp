// Names and numbers that nobody would choose: they are drawn as they are, and run nothing.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include "plots/figures.hpp"
#include "tests/plots/scratch_folder.hpp"

namespace ukemi {
namespace {

plots::RunPoint run_of(std::string policy, double cost_usd, double duration_h) {
    plots::RunPoint run;
    run.policy = std::move(policy);
    run.trace = run.policy;
    run.cost_usd = cost_usd;
    run.duration_h = duration_h;
    run.usd_by_cause[0] = cost_usd;
    return run;
}

plots::TimelineInput flat_timeline(std::string title) {
    plots::TimelineInput run;
    run.title = std::move(title);
    run.spot_held = {{0, 1}};
    run.end_h = 1;
    return run;
}

// Draws everything; the input must be drawable.
void check_drawn(const plots::FigureInput& input, const ScratchFolder& folder) {
    const plots::FigureResult result = plots::draw_all(input, folder.path());
    CHECK(result.problem == "");
    CHECK_FALSE(result.skipped);
}

}  // namespace

TEST_CASE("strange names: shown as text, never run", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const std::vector<std::string> names = {"under_score",
                                            "it's",
                                            "say \"hi\"",
                                            "`touch pwned`",
                                            "$(touch pwned)",
                                            "100 %d %s %n",
                                            "a\n!touch pwned\n",
                                            "';system('touch pwned');'",
                                            "back\\slash\\",
                                            "{/Bold x}^2_3",
                                            "}{ #",
                                            "@pwned",
                                            "<b>&amp;",
                                            "comma,semi;colon",
                                            "\xff\xfe\x80",
                                            "",
                                            " ",
                                            "-",
                                            "{",
                                            "}",
                                            "\"a\",\"b",
                                            "Zürich 東京"};
    const ScratchFolder folder;
    plots::FigureInput input;
    for (std::size_t i = 0; i < names.size(); ++i) {
        input.runs.push_back(run_of(names[i], static_cast<double>(i), 4));
        input.runs.back().deadline_met = i % 2 == 0;
        input.timelines.push_back(flat_timeline(names[i]));
        input.timelines.back().file_stem = fmt::format("timeline-{}", i);
    }
    check_drawn(input, folder);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "pwned"));
    CHECK(folder.text_of("cost_and_time.svg").find("under_score") != std::string::npos);
}

TEST_CASE("strange names: a per cent sign, an underscore and a back quote are drawn", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder folder;
    plots::FigureInput input;
    input.runs = {run_of("a_b 5 %d `x` {y}", 1, 1)};
    input.timelines = {flat_timeline("a_b 5 %d `x` {y}")};
    check_drawn(input, folder);
    for (const char* file : {"cost_and_time.svg", "cost_by_cause.svg", "timeline.svg"}) {
        CAPTURE(file);
        CHECK(folder.text_of(file).find("a_b 5 %d `x` {y}") != std::string::npos);
    }
}

TEST_CASE("strange numbers: one run, equal values, nothing paid, very much paid", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const auto [cost_usd, duration_h] =
        GENERATE(table<double, double>({{0, 0}, {7, 7}, {1e-9, 1e-9}, {1e12, 1e6}}));
    CAPTURE(cost_usd, duration_h);
    const int runs = GENERATE(1, 2, 201);
    CAPTURE(runs);
    const ScratchFolder folder;
    plots::FigureInput input;
    for (int i = 0; i < runs; ++i) input.runs.push_back(run_of("same", cost_usd, duration_h));
    check_drawn(input, folder);
}

TEST_CASE("strange numbers: twenty policies with long names", "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder folder;
    plots::FigureInput input;
    input.deadline_h = 12;
    for (int i = 0; i < 20; ++i) {
        const std::string name = fmt::format("policy_{}{}", std::string(500, 'x'), i);
        input.runs.push_back(run_of(name, 100 + i, 10));
    }
    check_drawn(input, folder);
    const std::string picture = folder.text_of("cost_and_time.svg");
    for (int i = 0; i < 20; ++i) {  // the ends that tell them apart are seen
        CAPTURE(i);
        CHECK(picture.find(fmt::format("xx{}<", i)) != std::string::npos);
    }
    CHECK(folder.text_of("cost_and_time.csv").find(std::string(500, 'x')) != std::string::npos);
}

TEST_CASE("wrong numbers: refused with a sentence, and nothing is written", "[figures]") {
    const double wrong = GENERATE(std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(), -1.0);
    CAPTURE(wrong);
    const ScratchFolder folder;
    plots::FigureInput input;
    input.runs = {run_of("p", wrong, 1)};
    input.timelines = {flat_timeline("t")};
    input.timelines.front().end_h = wrong;
    const plots::FigureResult result = plots::draw_all(input, folder.path());
    CHECK(result.files.empty());
    CHECK(result.problem.find("a run of policy p has a number that is negative or not finite") !=
          std::string::npos);
    CHECK(result.problem.find("timeline: the end must be after the start") != std::string::npos);
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("wrong timelines: a path for a name, or points out of order", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.timelines = {flat_timeline("t"), flat_timeline("u")};
    input.timelines[0].file_stem = "../escape";
    input.timelines[1].price = {{0.5, 1}, {0.25, 2}};
    const plots::FigureResult result = plots::draw_timeline(input, folder.path());
    CHECK(result.files.empty());
    CHECK(result.problem ==
          "../escape: the file stem must be letters, digits, '_' and '-'; "
          "timeline: points must be finite and in order of time");
    CHECK(plots::draw_timeline({}, folder.path()).problem == "timeline: there is no run to draw");
    CHECK(plots::draw_cost_and_time({}, folder.path()).problem ==
          "cost_and_time: there are no runs to draw");
}

}  // namespace ukemi
