// read_controlled_job.cpp — the scenario of one job in place of its service time.
#include <fmt/format.h>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/controlled_jobs.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/job/world.hpp"
#include "sim/jobs/controlled_work.hpp"

namespace ukemi::scenarios {

namespace {

// {"/job/samples": "100000"}, as after --set.
std::vector<ConfigOverride> read_settings(ConfigReader& section) {
    std::vector<ConfigOverride> settings;
    auto set = section.object_if_present("set");
    if (!set) return settings;
    for (const std::string& pointer : set->keys()) {
        settings.push_back({pointer, set->text(pointer), section.path() + "/set"});
    }
    return settings;
}

// One place, whose capacity somebody tells.
sim::MarketData place_of(const Scenario& own) {
    const ZoneSource& source = own.market.zones.front();
    sim::MarketData market;
    market.after_last_row = sim::AfterLastRow::hold;
    sim::ZoneData& zone = market.zones.emplace_back();
    zone.name = source.name;
    zone.capacity = {{{Instant{}, own.job.instances_max}}, Instant::at(hours(1))};
    zone.spot_price = {{{Instant{}, source.spot_price.value_or(source.on_demand_price)}},
                       Instant::at(hours(1))};
    zone.on_demand_price = source.on_demand_price;
    sim::prepare(market);
    return market;
}

PolicyList policies_of(ConfigReader& section, const Scenario& own) {
    if (!section.has("policies")) return first_policies(own);
    const std::string where = section.place_of("policies");
    std::vector<PolicyList> lists = parse_policies(section.text("policies"), own, where);
    if (lists.size() > 1) {
        section.fail("policies", "expected one list, such as \"greedy+daly\"");
    }
    return std::move(lists.front());
}

void leave_out(const IgnoredParts& ignored, const JobPauses& pauses, sim::JobSpec& job) {
    if (ignored.checkpoints) job.profile.lossless = true;
    if (!ignored.phases) return;
    job.transition.reset();
    job.profile.spawn = {};
    job.profile.restart = job.profile.resize = pauses.restart.value_or(Duration{});
}

// How many GPUs it asks for; its Plan may turn to others.
std::int32_t read_gpus(ConfigReader& section, const sim::JobSpec& job) {
    return static_cast<std::int32_t>(
        section.integer("gpus", job.workers_min, job.instances_max, job.plan.workers_max));
}

}  // namespace

void read_controlled_job(ConfigReader& section, const JobPauses& pauses,
                         const ScheduleScenario& scenario, sim::SharingJob& job) {
    const std::filesystem::path file = section.beside(section.text("scenario"));
    const std::vector<ConfigOverride> settings = read_settings(section);
    if (KeyExplorer::of(section.file()) != nullptr) {  // only keys are looked for, and no files
        section.text("policies", "");
        section.integer("gpus", 1, instances_most, 1);
        return;
    }
    const auto own = std::make_shared<const Scenario>(read_scenario(file, settings));
    expect_steps_of_single_gpus(section, "scenario", *own);
    const auto list = std::make_shared<const PolicyList>(policies_of(section, *own));
    if (list->needs_oracle()) {
        section.fail("policies", fmt::format("{} asks an oracle, and nobody knows what a "
                                             "scheduler will give",
                                             list->label()));
    }
    auto about = std::make_shared<sim::ControlledJob>();
    about->policies = list->label();
    about->market = place_of(*own);
    about->job = job_on(*own, about->market);
    leave_out(scenario.ignored, pauses, about->job);
    about->seed = own->seed;
    check_policies(*list, *own, sim::simulated_capabilities(about->market, about->job));
    about->make_policies = [list] { return make_policies(*list); };
    about->make_log = [own, list, spec = about->job, market = about->market, seed = about->seed] {
        return std::make_unique<records::DecisionLog>(
            decision_log_header(*own, "shared cluster", spec,
                                sim::simulated_capabilities(market, spec), *list, seed, false));
    };
    job.gpus = read_gpus(section, about->job);
    job.restart = about->job.profile.restart;
    if (job.deadline < Instant::never()) {
        const Duration left = job.deadline - job.arrival;
        if (left <= Duration{}) section.fail("deadline", "expected a moment after the arrival");
        about->job.deadline = Instant::at(left);
    } else if (about->job.deadline < Instant::never()) {
        job.deadline = job.arrival + about->job.deadline.since_start();
    }
    job.controlled = std::move(about);
}

}  // namespace ukemi::scenarios
