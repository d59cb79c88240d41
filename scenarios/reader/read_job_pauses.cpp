// read_job_pauses.cpp — what changes and saves of jobs cost that share a cluster.
#include <algorithm>
#include <array>

#include "scenarios/reader/job_pauses.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/jobs/share_change.hpp"

namespace ukemi::scenarios {

namespace {

struct IgnoredPart {
    std::string_view name;
    bool IgnoredParts::*part;
};
constexpr std::array ignored_parts{
    IgnoredPart{"losses", &IgnoredParts::losses}, IgnoredPart{"links", &IgnoredParts::links},
    IgnoredPart{"phases", &IgnoredParts::phases}, IgnoredPart{"prices", &IgnoredParts::prices},
    IgnoredPart{"checkpoints", &IgnoredParts::checkpoints}};

sim::SaveRule read_saves(ConfigReader& section, const sim::SaveRule& otherwise) {
    auto config = section.object_if_present("checkpoint");
    if (!config) return otherwise;
    sim::SaveRule rule;
    rule.every = bounded_time(*config, "every", config->duration("every"));
    if (rule.every <= Duration{}) config->fail("every", "expected more than zero");
    rule.takes = bounded_time(*config, "takes", config->duration("takes", Duration{}));
    rule.restore = bounded_time(*config, "restore", config->duration("restore", Duration{}));
    config->finish();
    return rule;
}

}  // namespace

JobPauses read_pauses(ConfigReader& section, const JobPauses& otherwise,
                      const IgnoredParts& ignored) {
    JobPauses pauses = otherwise;
    if (section.has("restart")) {
        pauses.restart = bounded_time(section, "restart", section.duration("restart"));
        pauses.transition = nullptr;  // of all jobs
    }
    std::optional<Bytes> model_size;
    if (section.has("model_size")) model_size = section.bytes("model_size");
    if (auto costs = read_transition_costs(section, model_size)) {
        pauses.transition = std::make_shared<const sim::TransitionCosts>(std::move(*costs));
    }
    pauses.saves = read_saves(section, otherwise.saves);
    if (ignored.phases) pauses.transition = nullptr;
    if (ignored.checkpoints) pauses.saves = {};
    return pauses;
}

void set_pauses(const JobPauses& pauses, Duration flat, sim::SharingJob& job) {
    job.saves = pauses.saves;
    job.transition = pauses.transition;
    job.restart = pauses.restart.value_or(flat);
    if (!job.transition) return;
    const bool in_seconds = job.application != nullptr;
    const Duration start = sim::first_start(*job.transition, job.gpus);
    job.restart = in_seconds ? round_up_to(start, whole_seconds(1)) : start;
}

IgnoredParts read_ignored(ConfigReader& root) {
    IgnoredParts ignored;
    if (!root.has("ignore")) return ignored;
    for (const std::string& name : root.texts("ignore")) {
        const auto part = std::ranges::find(ignored_parts, name, &IgnoredPart::name);
        if (part == ignored_parts.end()) {
            root.fail("ignore",
                      "expected some of \"losses\", \"links\", \"phases\", \"prices\", "
                      "\"checkpoints\"");
        }
        ignored.*part->part = true;
    }
    return ignored;
}

void leave_out(const IgnoredParts& ignored, ScheduleScenario& scenario) {
    auto& markets = scenario.cluster.markets;
    for (sim::GroupMarket& market : markets) {
        if (ignored.losses) market.launchable.reset();
        if (ignored.losses) market.notice = {};
        if (!ignored.prices) continue;
        market.price = {};
        market.paid_in_use = false;
    }
    const auto says_nothing = [](const sim::GroupMarket& market) {
        return !market.launchable && market.price.steps.empty();
    };
    if (std::ranges::all_of(markets, says_nothing)) markets.clear();
    if (ignored.prices) {
        scenario.jobs.change([](sim::SharingJob& job) { job.budget.reset(); });
    }
    if (!ignored.links) return;
    scenario.links = nullptr;
    scenario.jobs.change([](sim::SharingJob& job) { job.step.reset(); });
}

}  // namespace ukemi::scenarios
