// table_test.cpp — the table that replay prints.
#include <catch2/catch.hpp>

#include "analysis/table.hpp"
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

TEST_CASE("table: a line a policy, cheapest first, with short names", "[cli]") {
    const std::vector<records::RunResult> runs{run_of("on_demand", 30, 10),
                                               run_of("spot_only", 9, 40),
                                               run_of("greedy+daly_checkpoint", 20, 12.25)};
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() == 6);  // two of header, three policies, the count
    CHECK_THAT(lines[2], Catch::StartsWith("spot_only "));
    CHECK_THAT(lines[3], Catch::StartsWith("greedy+daly ") && Catch::Contains(" 20.00 "));
    // 3 h of 4 h useful, 1 h idle.
    CHECK_THAT(lines[3], Catch::EndsWith("  75   0   0   0  25   0"));
    CHECK_THAT(lines[4], Catch::StartsWith("on_demand "));
    CHECK(lines[5] == "1 run a policy");
}

TEST_CASE("table: means over runs, with the interval of the mean cost", "[cli]") {
    // Costs 10 and 14: mean 12, s = 2√2, s/√2 = 2, t(0.975, 1) = 12.706: ± 25.41.
    std::vector<records::RunResult> runs{run_of("greedy", 10, 4), run_of("greedy", 14, 6, false)};
    runs[1].seed = 1;
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() == 5);
    CHECK_THAT(lines[2], Catch::Contains(" 12.00   25.41       -    5.0!   50 "));
    CHECK(lines[3] == "2 runs a policy; intervals are over 2 seeds");
    CHECK(lines[4] == "! some runs did not finish their work");
}

TEST_CASE("table: who has no deadline meets none, and who cannot go on is counted", "[cli]") {
    std::vector<records::RunResult> runs{run_of("greedy", 10, 4), run_of("spot_only", 2, 1, false),
                                         run_of("spot_only", 2, 1, false)};
    for (records::RunResult& run : runs) run.deadline.reset();
    runs[2].seed = 1;
    runs[1].stuck = true;
    const auto lines = lines_of(analysis::policy_table(runs));
    REQUIRE(lines.size() == 7);
    // Who finished nothing paid for something else, and stands last.
    CHECK_THAT(lines[2], Catch::StartsWith("greedy ") && Catch::Contains("    4.0     -    0.0"));
    CHECK_THAT(lines[3],
               Catch::StartsWith("spot_only ") && Catch::Contains("    1.0!    -    0.0"));
    CHECK(lines[5] == "! some runs did not finish their work");
    CHECK(lines[6] == "1 run could not go on: nothing to come would have changed that");
}

TEST_CASE("table: no line is wider than 100 columns, whatever is in it", "[cli]") {
    std::vector<records::RunResult> runs{
        run_of(std::string(300, 'x'), 9e9, 9e5, false), run_of(std::string(300, 'x'), 1, 1),
        run_of("uniform_progress+periodic_checkpoint+checkpoint_on_notice", 123456789.12, 99999.9)};
    for (records::RunResult& run : runs) {
        run.oracle = true;
        run.revocations = 123'456'789;
    }
    for (const std::string& line : lines_of(analysis::policy_table(runs))) {
        CAPTURE(line);
        CHECK(line.size() <= 100);
    }
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
    CHECK_THAT(lines[3], Catch::StartsWith("spot_only ") && Catch::Contains("    25.0 "));
    CHECK_THAT(lines[4], Catch::StartsWith("greedy ") && Catch::Contains("   200.0 "));
    CHECK(runs[3].regret_percent() == std::nullopt);
    runs[2].optimum_kind = "bound";
    lines = lines_of(analysis::policy_table(runs));
    CHECK_THAT(lines[2], Catch::StartsWith("optimum (lower bound)  "));
    runs[2].optimum.reset();
    lines = lines_of(analysis::policy_table(runs));
    CHECK_THAT(lines[2], Catch::StartsWith("spot_only ") && Catch::Contains("       - "));
}

TEST_CASE("table: an oracle has its mark and its footnote", "[cli]") {
    std::vector<records::RunResult> runs{run_of("ideal_no_overhead", 5, 5)};
    runs[0].oracle = true;
    const std::string text = analysis::policy_table(runs);
    CHECK_THAT(text, Catch::Contains("\nideal_no_overhead * ") &&
                         Catch::EndsWith("* an oracle: knows the future\n"));
}

}  // namespace ukemi
