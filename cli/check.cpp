// check.cpp — `ukemi check`: is this scenario right? Reads it, its traces and its policies; of
// steps, its cluster and its jobs.
#include <fmt/format.h>

#include <memory>
#include <span>

#include "cli/command.hpp"
#include "cli/learning_lines.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/step_scenario.hpp"
#include "sim/world.hpp"

namespace ukemi {

namespace {

void check_steps(const std::string& file, bool print_resolved) {
    const StepScenario scenario = read_step_scenario(file);
    if (print_resolved) {
        fmt::print("{}\n", scenario.resolved);
        return;
    }
    const std::size_t jobs = scenario.jobs.size();
    fmt::print("{}: ok ({} job{}, {})\n", file, jobs, jobs == 1 ? "" : "s", scenario.cluster);
}

void check(const std::vector<std::string>& files, bool print_resolved) {
    bool all_right = true;
    for (const std::string& file : files) {
        try {
            if (is_step_scenario(file)) {
                check_steps(file, print_resolved);
                continue;
            }
            const Scenario scenario = read_scenario(file);
            const NamedMarket market = make_market(scenario, scenario.seed);
            for (const PolicyList& list : scenario.policies) {
                check_policies(list, scenario, simulated_capabilities(market.data, scenario.job));
            }
            if (print_resolved) {
                fmt::print("{}\n", scenario.resolved);
            } else {
                const std::size_t lists = scenario.policies.size();
                const std::size_t zones = market.data.zones.size();
                fmt::print("{}: ok ({} policy list{}, {} zone{})\n", file, lists,
                           lists == 1 ? "" : "s", zones, zones == 1 ? "" : "s");
                fmt::print("{}", how_sure(std::span(&scenario, 1)));
            }
        } catch (const InputError& error) {
            fmt::print(stderr, "ukemi: {}\n", error.what());
            all_right = false;
        }
    }
    if (!all_right) throw ExitWith{exit_input_wrong};
}

}  // namespace

void add_check(CLI::App& app) {
    auto files = std::make_shared<std::vector<std::string>>();
    auto resolved = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand("check", "check scenarios without running them");
    command->add_option("SCENARIO", *files, "scenario files")->required();
    command->add_flag("--resolved", *resolved, "print each with all defaults filled in");
    command->callback([files, resolved] { check(*files, *resolved); });
}

}  // namespace ukemi
