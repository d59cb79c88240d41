// cost_against_deadline_test.cpp — medians and quartiles by deadline, policy and trace.
#include <catch2/catch.hpp>
#include <limits>

#include "plots/figures.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/plots/without_gnuplot.hpp"

namespace ukemi {
namespace {

plots::RunPoint run_of(const char* policy, const char* trace, double deadline_h, double cost_usd,
                       bool met = true) {
    plots::RunPoint run;
    run.policy = policy;
    run.trace = trace;
    run.cost_usd = cost_usd;
    run.duration_h = 1;
    run.deadline_met = met;
    run.deadline_h = deadline_h;
    return run;
}

}  // namespace

TEST_CASE("cost_against_deadline: the first panel pools the traces, each has one of its own",
          "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    input.runs = {run_of("steady", "east", 10, 40), run_of("steady", "west", 10, 20),
                  run_of("steady", "east", 20, 8),  run_of("steady", "west", 20, 4),
                  run_of("daring", "west", 10, 1),  run_of("daring", "west", 10, 2, false),
                  run_of("daring", "west", 20, 3)};
    plots::draw_cost_against_deadline(input, folder.path(), without_gnuplot());
    // Quartiles lie a quarter of the way between two values (type 7): 20 and 40 give 25, 30, 35.
    CHECK(folder.text_of("cost_against_deadline.csv") ==
          "panel,line,deadline_h,runs,cost_usd_quartile_1,cost_usd_median,cost_usd_quartile_3,"
          "deadline_missed_share,policy,trace\n"
          "0,0,10,2,1.25,1.5,1.75,0.5,daring,all\n"
          "0,0,20,1,3,3,3,0,daring,all\n"
          "0,1,10,2,25,30,35,0,steady,all\n"
          "0,1,20,2,5,6,7,0,steady,all\n"
          "1,1,10,1,40,40,40,0,steady,east\n"
          "1,1,20,1,8,8,8,0,steady,east\n"
          "2,0,10,2,1.25,1.5,1.75,0.5,daring,west\n"
          "2,0,20,1,3,3,3,0,daring,west\n"
          "2,1,10,1,20,20,20,0,steady,west\n"
          "2,1,20,1,4,4,4,0,steady,west\n");
    CHECK(folder.text_of("cost_against_deadline.gp").find("'quartiles about medians'") !=
          std::string::npos);
}

TEST_CASE("cost_against_deadline: what else varies has a figure each", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input;
    for (const char* restart : {"/job/restart=0 s", "/job/restart=300 s"}) {
        for (const double deadline_h : {10.0, 20.0}) {
            input.runs.push_back(run_of("steady", "east", deadline_h, deadline_h));
            input.runs.back().other_variant = restart;
        }
    }
    plots::draw_cost_against_deadline(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("cost_against_deadline.gp")
              .find("'median cost against the deadline; /job/restart=0 s'") != std::string::npos);
    CHECK(folder.text_of("cost_against_deadline-2.gp")
              .find("'median cost against the deadline; /job/restart=300 s'") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "cost_against_deadline-3.gp"));
    // A run each: there is no band to explain.
    CHECK(folder.text_of("cost_against_deadline.gp").find("'quartiles about medians'") ==
          std::string::npos);
}

TEST_CASE("cost_against_deadline: is drawn where there are two deadlines", "[figures]") {
    plots::FigureInput input;
    input.runs = {run_of("steady", "east", 10, 40), run_of("steady", "west", 10, 20)};
    const auto wanted = [&] {
        for (const plots::Figure& figure : plots::all_figures()) {
            if (figure.name == "cost_against_deadline") return figure.has_input(input);
        }
        return false;
    };
    CHECK_FALSE(wanted());
    input.runs[1].deadline_h = 12;
    CHECK(wanted());
    input.runs[1].deadline_h.reset();
    CHECK_FALSE(wanted());
}

TEST_CASE("cost_against_deadline: odd names are text, twenty policies are cut with a word",
          "[figures]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder folder;
    plots::FigureInput input;
    for (int policy = 0; policy < 20; ++policy) {
        for (const char* trace : {"`touch pwned`", "it's 5 %d", "\xff\n{_^}"}) {
            for (const double deadline_h : {1e-6, 5.0}) {
                input.runs.push_back(run_of("", trace, deadline_h, policy));
                input.runs.back().policy = "';system('touch pwned');'" + std::to_string(policy);
                input.runs.back().other_variant = "@`touch pwned`";
            }
        }
    }
    const plots::FigureResult result = plots::draw_cost_against_deadline(input, folder.path());
    CHECK(result.problem.empty());
    CHECK(result.notes ==
          std::vector<std::string>{
              "cost_against_deadline: shows the 12 policies that are cheapest of 20"});
    CHECK_FALSE(std::filesystem::exists(folder.path() / "pwned"));
    CHECK(folder.text_of("cost_against_deadline.svg").find("`touch pwned`") != std::string::npos);
}

TEST_CASE("cost_against_deadline: wrong numbers are refused with a sentence", "[figures]") {
    const double wrong = GENERATE(std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(), 0.0, -1.0);
    CAPTURE(wrong);
    const ScratchFolder folder;
    plots::FigureInput input;
    input.runs = {run_of("steady", "east", wrong, 1), run_of("steady", "east", 3, 1)};
    CHECK(plots::draw_cost_against_deadline(input, folder.path()).problem ==
          "cost_against_deadline: a deadline is not a finite time");
    CHECK(std::filesystem::is_empty(folder.path()));
    CHECK(plots::draw_cost_against_deadline({}, folder.path()).problem ==
          "cost_against_deadline: no run has a deadline");
}

}  // namespace ukemi
