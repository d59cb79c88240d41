// experiment_test.cpp — lists of policies, and many runs of them side by side.
#include <catch2/catch.hpp>

#include "policies/registry.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

constexpr std::string_view generated =
    R"({"generate": {"market": "v100-1-scarce", "length": "7 d"}, "on_demand_price": "3 USD/h"})";
constexpr std::string_view priced = R"({"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"})";

std::string capacity_csv(int hours_up) {
    return fmt::format("# id=x duration_s=360000\nt_s,instances\n0,1\n{},0\n", hours_up * 3600);
}

scenarios::ExperimentSetup setup_of(const scenarios::Scenario& scenario,
                                    std::string_view policies) {
    scenarios::ExperimentSetup setup;
    setup.policies = scenarios::parse_policies(policies, scenario, "test");
    setup.seeds = {1};
    return setup;
}

std::string order_of(const std::vector<scenarios::FinishedRun>& runs) {
    std::string text;
    for (const scenarios::FinishedRun& run : runs) {
        text += fmt::format("{} {} {};", run.result.trace, run.result.policy, run.result.seed);
    }
    return text;
}

}  // namespace

TEST_CASE("policy lists: commas separate lists, plus signs what runs together", "[policies]") {
    const scenarios::Scenario scenario = small_scenario(priced);
    const auto lists = scenarios::parse_policies("greedy,spot_only+daly", scenario, "--policies");
    REQUIRE(lists.size() == 2);
    CHECK(lists[0].label() == "greedy");
    CHECK(lists[0].where == "--policies");
    CHECK(lists[0].needs_deadline());
    CHECK(lists[1].label() == "spot_only+daly");
    CHECK_FALSE(lists[1].needs_deadline());
    CHECK(scenarios::make_policies(lists[1]).size() == 2);
}

TEST_CASE("policy lists: what is wrong is said of the option", "[policies]") {
    const scenarios::Scenario scenario = small_scenario(priced);
    const auto complaint = [&](std::string_view text) {
        return complaint_of([&] { scenarios::parse_policies(text, scenario, "--policies"); });
    };
    CHECK(complaint("greddy") == "--policies: no policy \"greddy\" (did you mean \"greedy\"?)");
    CHECK(complaint("greedy,") == "--policies: a policy without a name");
    CHECK(complaint("") == "--policies: a policy without a name");
    CHECK(complaint("daly,daly_checkpoint") ==
          "--policies: \"daly_checkpoint\" stands there twice");
    CHECK_THAT(complaint("quantum"), Catch::StartsWith("--policies: no policy \"quantum\"; there "
                                                       "is on_demand, spot_only, "));
}

TEST_CASE("policy lists: the scenario's parameters go with a policy, by any of its names",
          "[policies]") {
    const scenarios::Scenario scenario = small_scenario(
        priced, ".",
        R"("policy_parameters": {"periodic": {"interval": "5 min"}}, "replay": ["spot_only"])");
    const auto lists = scenarios::parse_policies("periodic_checkpoint,daly", scenario, "test");
    CHECK(lists[0].items[0].parameters == R"({"interval":"5 min"})");
    CHECK(lists[1].items[0].parameters == "{}");
}

TEST_CASE("policy lists: a list of objects keeps the parameters without the name", "[policies]") {
    const scenarios::Scenario scenario =
        small_scenario(priced, ".", R"("policies": [{"name": "greedy", "safety_net": "simple"},
                                     {"name": "daly"}])");
    REQUIRE(scenario.policies.size() == 1);
    CHECK(scenario.policies[0].label() == "greedy+daly");
    CHECK(scenario.policies[0].items[0].parameters == R"({"safety_net":"simple"})");
    CHECK(scenario.policies[0].items[1].parameters == "{}");
}

TEST_CASE("experiment: results come by trace, policy and seed, on any number of threads",
          "[experiment]") {
    const ScratchFolder scratch;
    const scenarios::Scenario scenario = small_scenario(priced);
    scenarios::ExperimentSetup setup = setup_of(scenario, "greedy,on_demand");
    setup.seeds = {7, 3};
    for (const int hours_up : {2, 4, 6}) {
        setup.traces.push_back(write_text(scratch.path() / fmt::format("up-{}.csv", hours_up),
                                          capacity_csv(hours_up)));
    }
    const auto one = scenarios::run_experiment(scenario, setup);
    CHECK(order_of(one) ==
          "up-2 greedy 7;up-2 greedy 3;up-2 on_demand 7;up-2 on_demand 3;"
          "up-4 greedy 7;up-4 greedy 3;up-4 on_demand 7;up-4 on_demand 3;"
          "up-6 greedy 7;up-6 greedy 3;up-6 on_demand 7;up-6 on_demand 3;");
    // greedy: 2 h of spot, idle until 12 h, then 8 h of on-demand: 2×1 + 8×3 USD.
    CHECK(one[0].result.cost == dollars(26));
    CHECK(one[2].result.cost == dollars(30));

    setup.threads = 4;
    std::vector<std::size_t> seen;
    setup.progress = [&](std::size_t done, std::size_t total) {
        CHECK(total == 12);
        seen.push_back(done);
    };
    const auto four = scenarios::run_experiment(scenario, setup);
    CHECK(order_of(four) == order_of(one));
    REQUIRE(four.size() == one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
        CHECK(four[i].result.event_hash == one[i].result.event_hash);
        CHECK(four[i].result.cost == one[i].result.cost);
    }
    REQUIRE(seen.size() == 12);
    for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == i + 1);
}

TEST_CASE("experiment: a generated market is another one for each seed", "[experiment]") {
    const scenarios::Scenario scenario = small_scenario(generated);
    scenarios::ExperimentSetup setup = setup_of(scenario, "spot_only,greedy");
    setup.seeds = {1, 2, 3};
    const auto one = scenarios::run_experiment(scenario, setup);
    setup.threads = 3;
    const auto three = scenarios::run_experiment(scenario, setup);
    CHECK(order_of(one) ==
          "v100-1-scarce spot_only 1;v100-1-scarce spot_only 2;"
          "v100-1-scarce spot_only 3;v100-1-scarce greedy 1;"
          "v100-1-scarce greedy 2;v100-1-scarce greedy 3;");
    for (std::size_t i = 0; i < one.size(); ++i) {
        CHECK(one[i].result.event_hash == three[i].result.event_hash);
    }
    CHECK(one[0].result.event_hash != one[1].result.event_hash);
    // The same seed is the same market, whatever else is asked for.
    setup.seeds = {2};
    CHECK(scenarios::run_experiment(scenario, setup)[0].result.event_hash ==
          one[1].result.event_hash);
}

TEST_CASE("experiment: details are kept of no run, the first of each policy, or all",
          "[experiment]") {
    const scenarios::Scenario scenario = small_scenario(generated);
    scenarios::ExperimentSetup setup = setup_of(scenario, "spot_only,greedy");
    setup.seeds = {1, 2};
    setup.options = {true, true, true, true};
    const auto kept = [&](scenarios::Details details) {
        setup.details = details;
        std::string text;
        for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
            const bool any = !run.result.timeline.empty();
            CHECK(run.decisions.empty() == !any);
            CHECK(run.events.empty() == !any);
            text += any ? 'x' : '-';
        }
        return text;
    };
    CHECK(kept(scenarios::Details::none) == "----");
    CHECK(kept(scenarios::Details::first) == "x-x-");
    CHECK(kept(scenarios::Details::all) == "xxxx");
    setup.options = {true, false, false, false};
    const auto runs = scenarios::run_experiment(scenario, setup);
    CHECK_FALSE(runs[0].result.timeline.empty());
    CHECK(runs[0].decisions.empty());
    CHECK(runs[0].events.empty());
}

TEST_CASE("experiment: keeping details changes nothing else", "[experiment]") {
    const scenarios::Scenario scenario = small_scenario(generated);
    scenarios::ExperimentSetup setup = setup_of(scenario, "greedy");
    const auto without = scenarios::run_experiment(scenario, setup);
    setup.options = {true, true, true, true};
    setup.details = scenarios::Details::all;
    const auto with = scenarios::run_experiment(scenario, setup);
    CHECK(with[0].result.event_hash == without[0].result.event_hash);
    CHECK(with[0].result.cost == without[0].result.cost);
}

TEST_CASE("experiment: the first bad trace in the order is named, on any number of threads",
          "[experiment]") {
    const ScratchFolder scratch;
    const scenarios::Scenario scenario = small_scenario(priced);
    scenarios::ExperimentSetup setup = setup_of(scenario, "on_demand");
    for (int number = 0; number < 9; ++number) {
        const bool bad = number == 4 || number == 7;
        setup.traces.push_back(
            write_text(scratch.path() / fmt::format("{}.csv", number),
                       bad ? "# duration_s=9\nt_s,instances\n0,x\n" : capacity_csv(3)));
    }
    for (const int threads : {1, 4}) {
        setup.threads = threads;
        CHECK_THAT(complaint_of([&] { scenarios::run_experiment(scenario, setup); }),
                   Catch::StartsWith(setup.traces[4].string() + ":3:3: "));
    }
}

TEST_CASE("experiment: policies that cannot run are refused before any run", "[experiment]") {
    const scenarios::Scenario scenario = small_scenario(priced);
    scenarios::ExperimentSetup setup = setup_of(scenario, "on_demand,ideal_no_overhead");
    std::size_t finished = 0;
    setup.progress = [&](std::size_t, std::size_t) { ++finished; };
    CHECK_THAT(complaint_of([&] { scenarios::run_experiment(scenario, setup); }),
               Catch::StartsWith("test: \"ideal_no_overhead\" needs an oracle"));
    CHECK(finished == 0);
}

}  // namespace ukemi
