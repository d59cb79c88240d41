#include "scenarios/reader/job_draws.hpp"

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "base/rng.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "traces/workload_file.hpp"

namespace ukemi::scenarios {

namespace {

std::optional<JobDraws::Range> read_range(ConfigReader& drawn, std::string_view key, double least,
                                          double most) {
    if (!drawn.has(key)) return std::nullopt;
    const std::vector<double> ends = drawn.numbers(key, least, most);
    if (KeyExplorer::of(drawn.file()) != nullptr) return std::nullopt;  // only keys are looked for
    if (ends.size() != 2 || ends[0] > ends[1]) {
        drawn.fail(key, "expected two numbers, the smaller one first");
    }
    return JobDraws::Range{ends[0], ends[1]};
}

double between(const JobDraws::Range& range, RandomStream& random) {
    return range.first + (range.second - range.first) * random.uniform();
}

}  // namespace

JobDraws read_job_draws(ConfigReader& section) {
    JobDraws draws;
    if (!section.has("drawn")) return draws;
    ConfigReader drawn = section.object("drawn");
    constexpr std::int64_t users_most = 1'000'000;
    if (drawn.has("users")) draws.users = drawn.integer("users", 1, users_most);
    if (drawn.has("priorities")) {
        constexpr auto most = static_cast<double>(traces::priority_most);
        for (const double priority : drawn.numbers("priorities", 1, most)) {
            const std::int64_t whole = round_nearest(priority);
            if (static_cast<double>(whole) != priority) {
                drawn.fail("priorities", "expected whole numbers");
            }
            draws.priorities.push_back(whole);
        }
        const bool explores = KeyExplorer::of(drawn.file()) != nullptr;  // only keys are looked for
        if (draws.priorities.empty() && !explores) {
            drawn.fail("priorities", "expected at least one");
        }
    }
    constexpr double times_most = 1000;
    draws.deadlines = read_range(drawn, "deadlines", 0.001, times_most);
    draws.budgets_usd = read_range(drawn, "budgets_usd", budget_least_usd, budget_most_usd);
    drawn.finish();
    return draws;
}

void draw_owners(ConfigReader& section, const JobDraws& draws, ScheduleScenario& scenario) {
    const std::uint64_t seed = scenario.cluster.seed;
    RandomStream users(seed, "jobs/users");
    RandomStream priorities(seed, "jobs/priorities");
    RandomStream deadlines(seed, "jobs/deadlines");
    RandomStream budgets(seed, "jobs/budgets");
    if (draws.users == 0 && draws.priorities.empty() && !draws.deadlines && !draws.budgets_usd) {
        return;
    }
    scenario.jobs.change([&](sim::SharingJob& job) {
        if (draws.users > 0) job.user = fmt::format("user-{}", users.integer(0, draws.users - 1));
        if (!draws.priorities.empty()) {
            const std::int64_t last = std::ssize(draws.priorities) - 1;
            job.priority = draws.priorities[static_cast<std::size_t>(priorities.integer(0, last))];
        }
        if (draws.deadlines) {
            if (job.application != nullptr) {
                section.fail("drawn",
                             "deadlines are in times that a job takes, which measured "
                             "applications do not say: expected no \"deadlines\"");
            }
            const double times = between(*draws.deadlines, deadlines);
            job.deadline = job.arrival + seconds(times * to_seconds(job.service));
        }
        if (draws.budgets_usd) job.budget = dollars(between(*draws.budgets_usd, budgets));
    });
}

}  // namespace ukemi::scenarios
