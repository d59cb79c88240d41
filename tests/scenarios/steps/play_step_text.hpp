// play_step_text.hpp — any text at all as a scenario of steps: read, and played where it is small.
//
// For the fuzzer, and for the test that what the fuzzer begins with is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi {

inline bool is_small(const scenarios::StepScenario& scenario) {
    std::int64_t messages = 0;
    std::size_t workers = 0;
    for (const scenarios::StepJobEntry& entry : scenario.jobs) {
        messages += scenarios::messages_a_step(entry.job) * entry.job.steps;
        workers += entry.job.workers.size();
    }
    std::int64_t flows = 0;
    for (const sim::CrossTraffic& traffic : scenario.cross_traffic) flows += traffic.flows;
    return messages <= 2000 && workers <= 16 && flows <= 16;
}

// INVARIANT: what was read is read again from what it was resolved to, and the steps add up.
inline void play_steps(const scenarios::StepScenario& scenario) {
    const scenarios::StepScenario again =
        scenarios::step_scenario_from_text(scenario.resolved, "again");
    INVARIANT(again.resolved == scenario.resolved);
    if (!is_small(scenario)) return;
    std::vector<sim::StepJob> jobs;
    for (const scenarios::StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    sim::StepOptions options;
    options.seed = scenario.seed;
    options.detailed_steps = 1;
    const std::vector<sim::JobSteps> results =
        sim::run_steps(scenario.topology, jobs, scenario.cross_traffic, options, scenario.events);
    INVARIANT(results.size() == jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        INVARIANT(static_cast<std::int64_t>(results[j].steps.size()) == jobs[j].steps);
        for (const sim::StepRecord& step : results[j].steps) {
            INVARIANT(step.end >= step.begin && step.parts.total() == step.end - step.begin);
        }
    }
}

// False if it was refused.
inline bool play_step_text(std::string_view text) {
    try {
        play_steps(scenarios::step_scenario_from_text(text, "fuzz"));
        return true;
    } catch (const InputError&) {  // the only way to refuse
        return false;
    }
}

}  // namespace ukemi
