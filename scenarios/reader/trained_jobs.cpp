#include "scenarios/reader/trained_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/plain_text.hpp"
#include "scenarios/reader/live_costs.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

// Samples in a second of a group of so many, by the profile.
double samples_per_s(const sim::JobSpec& job, std::int32_t workers) {
    const policies::StepRate rate = policies::rate_of(job.profile, job.plan, workers);
    const auto samples = static_cast<double>(policies::samples_per_step(job.plan, workers));
    return samples * static_cast<double>(rate.steps) / to_seconds(rate.per);
}

std::shared_ptr<const Scenario> read_trained(ConfigReader& section,
                                             const std::filesystem::path& file, double time_scale) {
    Scenario scenario = read_scenario(file);
    expect_steps_of_single_gpus(section, "trains", scenario);
    if (scenario.job.samples_per_epoch == 0) {
        section.fail("trains", "expected a job that has \"samples\", not time as its work");
    }
    if (scenario.job.workers_min != 1) {
        section.fail("trains", fmt::format("expected a job that one worker can train, as the GPUs "
                                           "of a share come and go; {} needs {}",
                                           ukemi::quoted(scenario.name), scenario.job.workers_min));
    }
    if (!scenario.costs.empty()) {
        scenario.job.profile =
            measured_profile(read_costs(scenario.costs), scenario, time_scale, scenario.costs, "");
    }
    return std::make_shared<const Scenario>(std::move(scenario));
}

}  // namespace

std::size_t TrainedJobs::read(ConfigReader& section) {
    if (!section.has("trains")) return 0;
    const std::string given = section.text("trains");
    if (KeyExplorer::of(section.file()) != nullptr) return 0;  // only keys are looked for
    const auto [known, is_new] = numbers_.try_emplace(given, all_.size() + 1);
    if (is_new) all_.push_back(read_trained(section, folder_ / given, time_scale_));
    return known->second;
}

void TrainedJobs::set_work(ConfigReader& section, std::size_t trains,
                           std::optional<std::int64_t> samples, std::int32_t cluster_gpus,
                           sim::SharingJob& job) const {
    const sim::JobSpec& trained = at(trains).job;
    const std::int32_t most = std::min(trained.instances_max, cluster_gpus);
    if (job.gpus > most) {
        section.fail("gpus", fmt::format("expected at most {}, as many as {} can use", most,
                                         ukemi::quoted(at(trains).name)));
    }
    const double alone = samples_per_s(trained, 1);
    if (!samples && job.service > Duration{}) {
        const double of_all = to_seconds(job.service) * samples_per_s(trained, job.gpus);
        samples = std::max<std::int64_t>(1, round_nearest(of_all));
    }
    job.trains = trains;
    job.samples = samples.value_or(trained.samples_total);
    constexpr double most_s = 3660.0 * 86'400;
    const double service_s = static_cast<double>(job.samples) / alone;
    if (service_s > most_s) section.fail("trains", "they take more than 3660 d on one GPU");
    job.service = seconds(service_s);
    job.speeds = {0};
    for (std::int32_t gpus = 1; gpus <= most; ++gpus) {
        const double speed = samples_per_s(trained, gpus) / alone;
        job.speeds.push_back(std::max<std::int64_t>(1, round_nearest(speed * 1e6)));
    }
}

Duration TrainedJobs::start_of(std::size_t trains) const {
    const policies::JobProfile& profile = at(trains).job.profile;
    return profile.spawn + profile.restart;
}

}  // namespace ukemi::scenarios
