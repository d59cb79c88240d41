// job_draws.hpp — whose the jobs of a file or a generator are, and what these may have, drawn by
// the scenario's seed.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "scenarios/reader/schedule_scenario.hpp"

namespace ukemi::scenarios {

inline constexpr double budget_least_usd = 1e-6;
inline constexpr double budget_most_usd = 1e9;

// "drawn", each part in place of what a file says. Evenly, from a stream for each part.
struct JobDraws {
    using Range = std::pair<double, double>;
    std::int64_t users = 0;  // so many share the jobs; 0: as the file says
    std::vector<std::int64_t> priorities;
    std::optional<Range> deadlines;  // in times that the job takes on its GPUs, from its arrival
    std::optional<Range> budgets_usd;
};
JobDraws read_job_draws(ConfigReader& section);
void draw_owners(ConfigReader& section, const JobDraws& draws, ScheduleScenario& scenario);

}  // namespace ukemi::scenarios
