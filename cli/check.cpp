// check.cpp — `ukemi check`: is this scenario right? Reads it, its traces and its policies; of
// steps, its cluster and its jobs.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "analysis/learning_lines.hpp"
#include "base/complaint_list.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/experiment_setup.hpp"
#include "scenarios/reader/read_collective.hpp"
#include "scenarios/reader/scenario.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/search_scenario.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/job/transition_systems.hpp"
#include "sim/job/world.hpp"

namespace ukemi::cli {

namespace {

void check_steps(const std::string& file, bool print_resolved) {
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(file);
    if (print_resolved) {
        fmt::print("{}\n", scenario.resolved);
        return;
    }
    const std::size_t jobs = scenario.jobs.size();
    fmt::print("{}: ok ({} job{}, {})\n", file, jobs, jobs == 1 ? "" : "s", scenario.cluster);
    for (const std::string& fitted : scenario.fitted) fmt::print("  {}\n", one_line(fitted));
    for (const scenarios::StepJobEntry& entry : scenario.jobs) {
        if (entry.job.nccl && !entry.why.empty()) {
            fmt::print("  {}: nccl{}: {}\n", entry.job.name, scenarios::why_collective(entry),
                       entry.why);
        }
        if (entry.searched) fmt::print("  {}: dimensions: {}\n", entry.job.name, entry.why);
    }
}

void check_schedule(const std::string& file, bool print_resolved) {
    const scenarios::ScheduleScenario scenario = scenarios::read_schedule_scenario(file);
    if (print_resolved) {
        fmt::print("{}\n", scenario.resolved);
        return;
    }
    const std::size_t jobs = scenario.jobs.size();
    const std::size_t lists = scenario.schedulers.size();
    fmt::print("{}: ok ({} job{} on {} GPUs, {} scheduler{})\n", file, jobs, jobs == 1 ? "" : "s",
               scenario.cluster.gpus(), lists, lists == 1 ? "" : "s");
}

void check_search(const std::string& file, bool print_resolved) {
    const scenarios::SearchScenario scenario = scenarios::read_search_scenario(file);
    if (print_resolved) {
        fmt::print("{}\n", scenario.resolved);
        return;
    }
    const std::size_t keys = scenario.space.size();
    const std::size_t lists = scenario.searchers.size();
    fmt::print("{}: ok ({} key{}, {} searcher{} on {} GPUs)\n", file, keys, keys == 1 ? "" : "s",
               lists, lists == 1 ? "" : "s", scenario.where.cluster.gpus());
}

std::string origin_text(const sim::TransitionCosts& costs, sim::CostOrigin origin) {
    switch (origin) {
        case sim::CostOrigin::none: break;
        case sim::CostOrigin::input: return "  input";
        case sim::CostOrigin::system: return "  " + costs.system;
        case sim::CostOrigin::measured: return "  " + one_line(costs.file);
    }
    return "";
}

// What a change of the group costs at the job's full size, half of which has the model, and where
// each number comes from.
void print_transition(const sim::JobSpec& job) {
    const sim::TransitionCosts& costs = *job.transition;
    const std::int32_t workers = job.instances_max;
    const std::int32_t half = std::max(workers / 2, 1);
    const auto line = [&](std::string_view change, std::string_view phase, std::string_view value,
                          sim::CostOrigin origin) {
        fmt::print("    {:<8} {:<22} {:>10}{}\n", change, phase, value, origin_text(costs, origin));
    };
    const auto row = [&](std::string_view change, std::string_view phase, Duration time,
                         sim::CostOrigin origin) {
        line(change, phase, format_duration(time), origin);
    };
    fmt::print("  changes of the group, at its full size of {} (growing: from {}):\n", workers,
               half);
    for (std::size_t change = 0; change < sim::group_change_count; ++change) {
        const auto kind = static_cast<sim::GroupChange>(change);
        const std::int32_t holders = kind == sim::GroupChange::start    ? 0
                                     : kind == sim::GroupChange::shrink ? workers
                                                                        : half;
        const records::PhaseTimes times = sim::phase_times(costs, kind, workers, holders);
        for (std::size_t phase = 0; phase < times.size(); ++phase) {
            const sim::CostOrigin origin =
                sim::origin_of(costs, kind, static_cast<policies::TransitionPhase>(phase));
            if (times[phase] <= Duration{} && origin != sim::CostOrigin::input) continue;
            row(sim::group_change_names[change], policies::transition_phase_names[phase],
                times[phase], origin);
        }
        row(sim::group_change_names[change], "in all", records::sum_of(times),
            sim::CostOrigin::none);
    }
    constexpr std::string_view meanwhile = "while the others train";
    if (costs.overlapped_spawn_from != sim::CostOrigin::none) {
        row("spawn", meanwhile, costs.overlapped_spawn, costs.overlapped_spawn_from);
    }
    if (costs.reattach_from != sim::CostOrigin::none) {
        row("reattach", meanwhile, costs.reattach, costs.reattach_from);
    }
    if (costs.whole_program_from != sim::CostOrigin::none) {
        line("restarts", "", costs.whole_program ? "all" : "members", costs.whole_program_from);
    }
    if (costs.saves_first_from != sim::CostOrigin::none) {
        line("saves", "before planned changes", costs.saves_first ? "yes" : "no",
             costs.saves_first_from);
    }
    const sim::TransitionSystem* system = sim::find_transition_system(costs.system);
    if (system != nullptr) fmt::print("    {}: input, {}\n", system->name, system->source);
    if (!costs.file.empty())
        fmt::print("    {}: {}\n", one_line(costs.file), one_line(costs.system));
}

// What is in the way of the first Plan; else of each list that cannot run.
void expect_policies(const scenarios::Scenario& scenario, const scenarios::NamedMarket& market) {
    const auto world = sim::simulated_capabilities(market.data, scenario.job);
    scenarios::expect_first_plan(scenario, world);
    std::vector<std::string> complaints;
    for (const scenarios::PolicyList& list : scenario.policies) {
        try {
            scenarios::check_policies(list, scenario, world);
        } catch (const InputError& error) {
            complaints.emplace_back(error.what());
        }
    }
    if (!complaints.empty()) throw InputErrors(complaints);
}

void check(const std::vector<std::string>& files, bool print_resolved) {
    bool all_right = true;
    for (const std::string& file : files) {
        try {
            if (scenarios::is_step_scenario(file)) {
                check_steps(file, print_resolved);
                continue;
            }
            if (scenarios::is_schedule_scenario(file)) {
                check_schedule(file, print_resolved);
                continue;
            }
            if (scenarios::is_search_scenario(file)) {
                check_search(file, print_resolved);
                continue;
            }
            const scenarios::Scenario scenario = scenarios::read_scenario(file);
            const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
            expect_policies(scenario, market);
            if (print_resolved) {
                fmt::print("{}\n", scenario.resolved);
            } else {
                const std::size_t lists = scenario.policies.size();
                const std::size_t zones = market.data.zones.size();
                fmt::print("{}: ok ({} policy list{}, {} zone{})\n", file, lists,
                           lists == 1 ? "" : "s", zones, zones == 1 ? "" : "s");
                print_step_exchange(scenario);
                fmt::print("{}", analysis::how_sure(std::span(&scenario, 1)));
                if (scenario.job.transition) print_transition(scenario.job);
            }
        } catch (const InputError& error) {
            print_complaint(error);
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
    command->add_flag("--resolved", *resolved,
                      "print each with defaults filled in, in the sections that it has");
    command->callback([files, resolved] { check(*files, *resolved); });
}

}  // namespace ukemi::cli
