// schedule_scenario.cpp — reads a scenario of jobs that share a cluster.
#include "scenarios/reader/schedule_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/complaint_list.hpp"
#include "base/plain_text.hpp"
#include "scenarios/reader/job_pauses.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/shared_jobs.hpp"
#include "schedulers/multiple_choice.hpp"

namespace ukemi::scenarios {

namespace {

namespace fs = std::filesystem;

bool in_whole_seconds(Duration time) { return round_down_to(time, whole_seconds(1)) == time; }

void check_rounds(ConfigReader& root, const ScheduleScenario& scenario) {
    if (!scenario.jobs.have_applications()) return;
    if (scenario.round <= Duration{} || !in_whole_seconds(scenario.round)) {
        root.fail("round",
                  "expected a round of whole seconds, such as \"60 s\": jobs of measured "
                  "applications count in them");
    }
    for (const sim::SharingJob& job : scenario.jobs) {
        if (!in_whole_seconds(job.restart)) root.fail("restart", "expected whole seconds");
        for (const Duration time : {job.saves.every, job.saves.takes}) {
            if (!in_whole_seconds(time)) root.fail("checkpoint", "expected whole seconds");
        }
    }
    for (const sim::GroupMarket& market : scenario.cluster.markets) {
        const auto whole = [](const auto& step) { return in_whole_seconds(step.at.since_start()); };
        const bool fits =
            !market.launchable || (in_whole_seconds(market.notice) &&
                                   in_whole_seconds(market.launchable->end.since_start()) &&
                                   std::ranges::all_of(market.launchable->steps, whole));
        if (fits) continue;
        root.fail("cluster",
                  "expected markets that change at whole seconds: jobs of measured "
                  "applications count in them");
    }
}

void check_budgets(ConfigReader& root, const ScheduleScenario& scenario) {
    if (KeyExplorer::of(root.file()) != nullptr) return;  // only keys are looked for
    const auto costs = [](const sim::GroupMarket& market) { return !market.price.steps.empty(); };
    if (!scenario.jobs.have_budgets()) return;
    if (std::ranges::any_of(scenario.cluster.markets, costs)) return;
    for (const sim::SharingJob& job : scenario.jobs) {
        if (!job.budget) continue;
        root.fail("jobs", fmt::format("job {} has a budget, and no machine of the cluster costs "
                                      "anything: expected a \"price\" or a \"market\"",
                                      ukemi::quoted(job.name)));
    }
}

// Those that do not see what becomes of machines are for machines that stay.
void check_machines(ConfigReader& section, const schedulers::SchedulerEntry& entry,
                    const ScheduleScenario& scenario) {
    if (entry.needs_prices && scenario.cluster.markets.empty()) {
        section.fail("name",
                     fmt::format("{} weighs prices, which these machines have not", entry.name));
    }
    for (const sim::GroupMarket& market : scenario.cluster.markets) {
        const auto& prices = market.price.steps;
        const bool is_free = prices.empty() || std::ranges::any_of(prices, [](const auto& step) {
                                 return step.value == Price{};
                             });
        if (entry.needs_prices && is_free) {
            section.fail("name", fmt::format("{} weighs prices: expected a \"price\" or a "
                                             "\"market\" with prices above 0 of all machines",
                                             entry.name));
        }
        if (market.launchable && !entry.follows_machines) {
            section.fail("name", fmt::format("{} does not follow machines that come and are "
                                             "taken away: expected no \"market\" of the cluster",
                                             entry.name));
        }
        if (!market.price.steps.empty() && entry.divides) {
            section.fail("name", fmt::format("{} gives parts of GPUs, which are on no machine "
                                             "that is paid for: expected no prices",
                                             entry.name));
        }
    }
    if (scenario.links && entry.divides) {
        section.fail("name", fmt::format("{} gives parts of GPUs, which are on no machine of a "
                                         "\"network\"",
                                         entry.name));
    }
}

void check_scheduler(ConfigReader& section, const schedulers::SchedulerEntry& entry,
                     const schedulers::Scheduler& made, const ScheduleScenario& scenario) {
    if (scenario.round > Duration{} && made.round() > Duration{} &&
        scenario.round != made.round()) {
        section.fail("name", fmt::format("{} has rounds of {}, the scenario of {}: expected the "
                                         "same",
                                         entry.name, format_duration(made.round()),
                                         format_duration(scenario.round)));
    }
    if (scenario.cluster.groups.size() > 1 && !entry.knows_types) {
        section.fail("name", fmt::format("{} knows one type of GPU, the cluster has {}", entry.name,
                                         scenario.cluster.groups.size()));
    }
    check_machines(section, entry, scenario);
    std::vector<std::int32_t> gpus;
    for (const sim::MachineGroup& group : scenario.cluster.groups) gpus.push_back(group.gpus());
    if (entry.chooses_exactly && schedulers::choice_states(gpus) > schedulers::choice_states_most) {
        section.fail("name", fmt::format("{} weighs every number of free GPUs of each type: "
                                         "expected a product of (GPUs + 1) up to {}",
                                         entry.name, schedulers::choice_states_most));
    }
    const bool asks_jobs =
        entry.needs_service || entry.needs_deadline || entry.divides || entry.one_gpu_each;
    if (!asks_jobs) return;
    for (const sim::SharingJob& job : scenario.jobs) {
        if (entry.needs_service && job.application != nullptr) {
            section.fail("name", fmt::format("{} asks how long jobs take, which measured "
                                             "applications do not say",
                                             entry.name));
        }
        if (entry.needs_deadline && job.deadline == Instant::never()) {
            section.fail("name", fmt::format("{} asks for a deadline of every job, {} has none",
                                             entry.name, ukemi::quoted(job.name)));
        }
        if (entry.divides && job.controlled) {
            section.fail("name", fmt::format("{} gives parts of GPUs, which a job with a "
                                             "\"scenario\" of its own cannot use",
                                             entry.name));
        }
        if (entry.one_gpu_each && job.gpus != 1) {
            section.fail("name", fmt::format("{} is for jobs of one GPU, {} asks for {}",
                                             entry.name, ukemi::quoted(job.name), job.gpus));
        }
        if (entry.divides && (job.restart > Duration{} || job.transition)) {
            section.fail("name", fmt::format("{} gives parts of GPUs, which it changes all the "
                                             "time: expected \"restart\": \"0 s\"",
                                             entry.name));
        }
    }
}

void read_schedulers(ConfigReader& root, ScheduleScenario& scenario) {
    for (ConfigReader& section : root.objects("schedulers")) {
        auto made = read_scheduler(section, scenario);
        if (std::ranges::any_of(scenario.schedulers,
                                [&](const auto& one) { return one->name() == made->name(); })) {
            section.fail("name", fmt::format("\"{}\" stands there twice: --vary compares "
                                             "parameters",
                                             made->name()));
        }
        scenario.schedulers.push_back(std::move(made));
    }
    if (scenario.schedulers.empty()) root.fail("schedulers", "expected at least one");
}

// Of another kind of scenario: not as a key that this one may have.
bool has_key(const ConfigReader& root, std::string_view key) {
    if (KeyExplorer::of(root.file()) != nullptr) return false;
    return std::ranges::any_of(root.keys(), [&](const std::string& one) { return one == key; });
}

void read_network(ConfigReader& root, ScheduleScenario& scenario) {
    if (!root.has("network")) return;
    const fs::path given = root.text("network");
    if (KeyExplorer::of(root.file()) != nullptr) return;  // only keys are looked for, and no files
    scenario.links =
        std::make_shared<PlacedSteps>(scenario.file.parent_path() / given, scenario.cluster);
}

void read_schedule_parts(ConfigReader& root, ScheduleScenario& scenario) {
    if (has_key(root, "market")) {
        root.fail("market",
                  "this is a job on a market: `ukemi replay` runs it; `ukemi schedule` "
                  "runs jobs that share a \"cluster\"");
    }
    expect_no_searchers(root);
    scenario.name = root.text("name");
    if (scenario.name.empty()) root.fail("name", "expected a name, found \"\"");
    root.text("description", "");
    if (root.has("$schema")) root.text("$schema");  // for editors
    scenario.cluster.seed = static_cast<std::uint64_t>(
        root.integer("seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
    scenario.ignored = read_ignored(root);
    read_shared_cluster(root, scenario.file, GroupKeys::with_markets, scenario.cluster);
    read_network(root, scenario);
    if (root.has("round")) {
        scenario.round = bounded_time(root, "round", root.duration("round"));
        if (scenario.round <= Duration{}) root.fail("round", "expected more than zero");
    }
    read_shared_jobs(root, scenario);
    leave_out(scenario.ignored, scenario);
    check_budgets(root, scenario);
    check_rounds(root, scenario);
    read_schedulers(root, scenario);
    root.finish();
}

ScheduleScenario read_schedule_root(ConfigReader& root, const fs::path& file) {
    ScheduleScenario scenario;
    scenario.file = file;
    ComplaintList complaints(root.file());
    complaints.attempt([&] { read_schedule_parts(root, scenario); });
    complaints.throw_all();
    scenario.resolved = root.resolved();
    return scenario;
}

}  // namespace

Duration bounded_time(ConfigReader& section, std::string_view key, Duration value) {
    constexpr Duration most = days(10 * 366);
    if (value > most) section.fail(key, "expected at most 3660 d");
    return value;
}

std::unique_ptr<schedulers::Scheduler> read_scheduler(ConfigReader& section,
                                                      const ScheduleScenario& scenario) {
    const std::vector<std::string_view> names = schedulers::scheduler_names();
    const schedulers::SchedulerEntry* const entry =
        schedulers::find_scheduler(section.one_of("name", names));
    auto made = entry->make(section);
    section.finish();
    check_scheduler(section, *entry, *made, scenario);
    return made;
}

ScheduleScenario read_schedule_scenario(const fs::path& file) {
    ConfigReader root = ConfigReader::from_file(file);
    return read_schedule_root(root, file);
}

bool is_schedule_scenario(const fs::path& file) {
    return has_key(ConfigReader::from_file(file), "schedulers");
}

void expect_no_searchers(const ConfigReader& root) {
    if (!has_key(root, "searchers")) return;
    root.fail("searchers", "these are trials of a search: `ukemi search` runs them");
}

void expect_no_schedulers(const ConfigReader& root) {
    expect_no_searchers(root);
    if (!has_key(root, "schedulers")) return;
    root.fail("schedulers", "these are jobs that share a cluster: `ukemi schedule` runs them");
}

ScheduleScenario schedule_scenario_from_text(std::string_view text, const fs::path& file,
                                             std::span<const ConfigOverride> overrides) {
    ConfigReader root = ConfigReader::from_text(text, file.string(), overrides);
    return read_schedule_root(root, file);
}

std::vector<KeyNote> schedule_scenario_keys(std::span<const std::string> examples) {
    return keys_of(examples, [](ConfigReader& root) { read_schedule_root(root, "example.json"); });
}

}  // namespace ukemi::scenarios
