// table_test.cpp — the table that replay prints.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "analysis/comparison.hpp"
#include "analysis/policy_means.hpp"
#include "analysis/table.hpp"
#include "analysis/table_cells.hpp"
#include "base/plain_text.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

records::RunResult run_of(const std::string& policy, double usd, double run_hours,
                          bool met = true) {
    records::RunResult run;
    run.policy = policy;
    run.cost = dollars(usd);
    run.duration = seconds(run_hours * 3600);
    run.finished = met;
    run.deadline = hours(50);
    run.deadline_met = met;
    run.held = hours(4);
    run.causes.time[static_cast<std::size_t>(records::Cause::useful)] = hours(3);
    run.causes.time[static_cast<std::size_t>(records::Cause::idle)] = hours(1);
    return run;
}

}  // namespace

TEST_CASE("table: a line a policy, cheapest first, and a legend", "[cli]") {
    const std::vector<records::RunResult> runs{
        run_of("on_demand", 30, 10), run_of("spot_only", 9, 40), run_of("greedy+daly", 20, 12.25)};
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() == 7);  // two of header, three policies, the count, the legend
    CHECK_THAT(lines[0], Catch::Contains(" +/-usd ") && Catch::Contains(" hours "));
    CHECK_THAT(lines[2], Catch::StartsWith("spot_only "));
    CHECK_THAT(lines[3], Catch::StartsWith("greedy+daly ") && Catch::Contains(" 20.00 "));
    // 3 h of 4 h useful, 1 h idle.
    CHECK_THAT(lines[3], Catch::EndsWith("  75   0   0   0  25   0"));
    CHECK_THAT(lines[4], Catch::StartsWith("on_demand "));
    CHECK(lines[5] == "1 run a policy");
    CHECK(lines[6] ==
          "+/-: half the 95 % interval; met%: runs in time; useful redone transition checkpoint "
          "idle wasted");
}

TEST_CASE("table: means over runs, with the interval of the mean cost", "[cli]") {
    // Costs 10 and 14: mean 12, s = 2√2, s/√2 = 2, t(0.975, 1) = 12.706: ± 25.41.
    std::vector<records::RunResult> runs{run_of("greedy", 10, 4), run_of("greedy", 14, 6, false)};
    runs[1].seed = 1;
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() == 6);
    CHECK_THAT(lines[2], Catch::Contains(" 12.00   25.41       –    5.0!   50 "));
    CHECK(lines[3] == "2 runs a policy; intervals are over 2 seeds");
    CHECK(lines[5] == "! some runs did not finish their work");
}

TEST_CASE("table: a few cents are not nothing", "[cli]") {
    const auto cost_of = [](double usd) {
        const std::vector<records::RunResult> runs{run_of("greedy", usd, 4)};
        const std::string line = lines_of(analysis::policy_table(runs)).at(2);
        return line.substr(28, 10);  // 9 columns after the name's
    };
    CHECK(cost_of(0.005121) == "   0.00512");
    CHECK(cost_of(0.0149) == "    0.0149");
    CHECK(cost_of(0.000'000'004) == "     4e-09");
    CHECK(cost_of(0.123) == "      0.12");
    CHECK(cost_of(1.5) == "      1.50");
    CHECK(cost_of(0) == "      0.00");
    // A difference keeps its sign, whatever is left of its digits.
    CHECK(analysis::fitted_usd_change(0.004212, 8) == "+0.00421");
    CHECK(analysis::fitted_usd_change(-0.004212, 8) == "-0.00421");
    CHECK(analysis::fitted_usd_change(12.345, 8) == "+12.35");
    CHECK(analysis::fitted_usd_change(-1'234'567.89, 8) == "-1234568");
}

TEST_CASE("table: who has no deadline meets none, and who cannot go on is counted", "[cli]") {
    std::vector<records::RunResult> runs{run_of("greedy", 10, 4), run_of("spot_only", 2, 1, false),
                                         run_of("spot_only", 2, 1, false)};
    for (records::RunResult& run : runs) run.deadline.reset();
    runs[2].seed = 1;
    runs[1].stuck = true;
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() == 8);
    // Who finished nothing paid for something else, and stands last.
    CHECK_THAT(lines[2], Catch::StartsWith("greedy ") && Catch::Contains("    4.0     –    0.0"));
    CHECK_THAT(lines[3],
               Catch::StartsWith("spot_only ") && Catch::Contains("    1.0!    –    0.0"));
    CHECK(lines[6] == "! some runs did not finish their work");
    CHECK(lines[7] == "1 run could not go on: nothing to come would have changed that");
}

TEST_CASE("table: who misses deadlines stands after who meets them", "[cli]") {
    std::vector<records::RunResult> runs{run_of("spot_only", 5, 40), run_of("greedy", 20, 40),
                                         run_of("on_demand", 30, 10), run_of("time_sliced", 1, 9)};
    runs[0].deadline_met = false;  // finished, and late
    runs[3].finished = runs[3].deadline_met = false;
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() > 5);
    CHECK_THAT(lines[2], Catch::StartsWith("greedy "));
    CHECK_THAT(lines[3], Catch::StartsWith("on_demand "));
    CHECK_THAT(lines[4], Catch::StartsWith("spot_only "));
    CHECK_THAT(lines[5], Catch::StartsWith("time_sliced "));
}

TEST_CASE("table: times are in seconds, minutes or hours by their size", "[cli]") {
    struct Shown {
        double run_hours;
        const char* unit;
        const char* time;
    };
    for (const Shown& one : {Shown{40, " hours ", " 40.0 "}, Shown{0.5, " minutes ", " 30.0 "},
                             Shown{0.01, " seconds ", " 36.0 "}}) {
        const std::vector<records::RunResult> runs{run_of("greedy", 1, one.run_hours),
                                                   run_of("on_demand", 2, one.run_hours / 4)};
        const auto lines = lines_of(analysis::policy_table(runs));
        CHECK_THAT(lines.at(0), Catch::Contains(one.unit));
        CHECK_THAT(lines.at(2), Catch::Contains(one.time));
    }
}

TEST_CASE("table: what was bought of which market is shown where there is room", "[cli]") {
    std::vector<records::RunResult> runs{run_of("greedy", 33, 40)};
    runs[0].spot = {hours(30), dollars(27)};
    runs[0].on_demand = {hours(2), dollars(6)};
    runs[0].worker_time = hours(31);
    const auto narrow = lines_of(analysis::policy_table(runs, 144));
    CHECK(narrow.at(2).size() < 110);
    const auto wide = lines_of(analysis::policy_table(runs, 145));
    CHECK_THAT(wide.at(0), Catch::EndsWith("   spot h    o-d h worker h spot usd  o-d usd"));
    CHECK_THAT(wide.at(2), Catch::EndsWith("     30.0      2.0     31.0    27.00     6.00"));
    CHECK(columns_in(wide.at(2)) == 145);
    CHECK(columns_in(wide.at(0)) == 145);
    CHECK_THAT(wide.at(4), Catch::EndsWith("; o-d: on demand; worker: in the group"));
}

TEST_CASE("table: no line is wider than 100 columns, whatever is in it", "[cli]") {
    std::vector<records::RunResult> runs{
        run_of(std::string(300, 'x'), 9e9, 9e5, false), run_of(std::string(300, 'x'), 1, 1),
        run_of("uniform_progress+periodic+on_notice", 123456789.12, 99999.9)};
    for (records::RunResult& run : runs) {
        run.oracle = true;
        run.revocations = 123'456'789;
    }
    const std::string table = analysis::policy_table(runs);
    for (const std::string& line : lines_of(table)) {
        CAPTURE(line);
        CHECK(columns_in(line) <= 100);
    }
    // A long name has a line to itself, and is not cut: files have the same one.
    CHECK_THAT(table, Catch::Contains("\nuniform_progress+periodic+on_notice *\n        "));
}

TEST_CASE("table: the optimum has a line, and who was in time a regret over it", "[cli]") {
    std::vector<records::RunResult> runs{run_of("greedy", 10, 4), run_of("greedy", 14, 6),
                                         run_of("spot_only", 5, 9), run_of("spot_only", 5, 60)};
    runs[3].deadline_met = false;
    for (records::RunResult& run : runs) {
        run.optimum = dollars(4);
        run.optimum_kind = "exact";
    }
    auto lines = lines_of(analysis::policy_table(runs));
    CHECK_THAT(lines[2], Catch::StartsWith("optimum  ") && Catch::EndsWith("      4.00"));
    CHECK_THAT(lines[3], Catch::StartsWith("greedy ") && Catch::Contains("   200.0 "));
    CHECK_THAT(lines[4], Catch::StartsWith("spot_only ") && Catch::Contains("    25.0 "));
    CHECK(runs[3].regret_percent() == std::nullopt);
    CHECK_THAT(analysis::policy_table(runs),
               Catch::Contains("regret%: of the runs in time, over theirs"));
    const auto means =
        nlohmann::json::parse(analysis::policy_means_json(analysis::policy_means(runs)));
    CHECK(means[0].at("regret_runs") == 2);
    CHECK(means[1].at("regret_runs") == 1);
    CHECK(means[1].at("regret_percent") == 25.0);
    // 9 USD a run that got there, and 25 % over 4 USD: of one.
    runs[3].cost = dollars(13);
    const std::string compared = analysis::comparison_table(analysis::candidates_of(runs));
    CHECK_THAT(compared, Catch::Contains("regret%: of those in time, over their optima\n") &&
                             Catch::Contains("regret% of 1 of 2 runs that got there: spot_only\n"));
    CHECK(compared.find("got there: greedy") == std::string::npos);
    runs[3].cost = dollars(5);
    runs[2].optimum_kind = "bound";
    lines = lines_of(analysis::policy_table(runs));
    CHECK_THAT(lines[2], Catch::StartsWith("optimum (lower bound)  "));
    runs[2].optimum.reset();
    lines = lines_of(analysis::policy_table(runs));
    CHECK_THAT(lines[3], Catch::StartsWith("spot_only ") && Catch::Contains("       – "));
}

TEST_CASE("table: an oracle has its mark and its footnote", "[cli]") {
    std::vector<records::RunResult> runs{run_of("ideal_no_overhead", 5, 5)};
    runs[0].oracle = true;
    const std::string text = analysis::policy_table(runs);
    CHECK_THAT(text, Catch::Contains("\nideal_no_overhead * ") &&
                         Catch::EndsWith("* an oracle: knows the future\n"));
}

}  // namespace ukemi
