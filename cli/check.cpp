// check.cpp — `ukemi check`: is this scenario right? Reads it, its traces and its policies; of
// steps, its cluster and its jobs.
#include <fmt/format.h>

#include <algorithm>
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

// What a change of the group costs at the job's full size, half of which has the model, and where
// the numbers come from.
void print_transition(const JobSpec& job) {
    const TransitionCosts& costs = *job.transition;
    const std::int32_t workers = job.instances_max;
    const bool measured = costs.system.starts_with("measured");
    fmt::print("  changes of the group: {}{}\n", costs.system, measured ? "" : ", input");
    for (std::size_t change = 0; change < group_change_count; ++change) {
        const auto kind = static_cast<GroupChange>(change);
        const std::int32_t holders = kind == GroupChange::start    ? 0
                                     : kind == GroupChange::shrink ? workers
                                                                   : std::max(workers / 2, 1);
        const PhaseTimes times = phase_times(costs, kind, workers, holders);
        fmt::print("    {:<7}", group_change_names[change]);
        for (std::size_t phase = 0; phase < times.size(); ++phase) {
            if (times[phase] <= Duration{}) continue;
            fmt::print(" {} {},", transition_phase_names[phase], format_duration(times[phase]));
        }
        fmt::print(" {} in all\n", format_duration(sum_of(times)));
    }
    if (costs.overlapped_spawn > Duration{}) {
        fmt::print("    spawn   {} while the others train\n",
                   format_duration(costs.overlapped_spawn));
    }
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
                if (scenario.job.transition) print_transition(scenario.job);
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
