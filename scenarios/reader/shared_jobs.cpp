// shared_jobs.cpp — reads jobs that are written by hand, and asks for the others.
#include "scenarios/reader/shared_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "scenarios/reader/controlled_jobs.hpp"
#include "scenarios/reader/job_draws.hpp"
#include "scenarios/reader/job_pauses.hpp"
#include "scenarios/reader/recorded_jobs.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/trained_jobs.hpp"
#include "traces/workload_file.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::int64_t gpus_most = 100'000;
constexpr double speed_most = 1e6;

std::vector<std::int64_t> read_speeds(ConfigReader& section) {
    std::vector<std::int64_t> speeds;
    if (!section.has("speeds")) return speeds;
    for (const double speed : section.numbers("speeds", 0, speed_most)) {
        speeds.push_back(round_nearest(speed * 1e6));
    }
    if (speeds.size() < 2 || speeds.front() != 0 ||
        std::ranges::any_of(std::span(speeds).subspan(1), [](auto one) { return one <= 0; })) {
        section.fail("speeds",
                     "expected the speed on 0, 1, 2, … GPUs: 0 first, then numbers above 0");
    }
    return speeds;
}

// By group of machines, in millionths; 0: the job cannot run there.
std::vector<std::int64_t> read_type_speeds(ConfigReader& section,
                                           const sim::SharedCluster& cluster) {
    if (!section.has("speed_on")) return {};
    std::vector<std::int64_t> speeds(cluster.groups.size(), 1'000'000);
    ConfigReader by_type = section.object("speed_on");
    for (const std::string& type : by_type.keys()) {
        const double speed = by_type.number(type, 0, speed_most);
        const auto group = std::ranges::find(cluster.groups, type, &sim::MachineGroup::gpu_type);
        if (KeyExplorer::of(section.file()) != nullptr) continue;  // only keys are looked for
        if (group == cluster.groups.end()) by_type.fail(type, "the cluster has no such gpu_type");
        speeds[static_cast<std::size_t>(group - cluster.groups.begin())] =
            round_nearest(speed * 1e6);
    }
    if (std::ranges::max(speeds) == 0) section.fail("speed_on", "expected a type it can run on");
    return speeds;
}

// "steps", of a job of the scenario of steps that is the network: in place of a service time.
void read_linked_steps(ConfigReader& section, ScheduleScenario& scenario, sim::SharingJob& job) {
    constexpr std::int64_t steps_most = 1'000'000'000'000;
    const std::int64_t steps = section.integer("steps", 1, steps_most);
    const std::string given = section.text("step_of", "");
    if (KeyExplorer::of(section.file()) != nullptr) return;  // only keys are looked for
    if (!scenario.links) {
        section.fail("steps", "expected \"network\" beside the jobs: a scenario of steps");
    }
    const std::vector<std::string>& kinds = scenario.links->kinds();
    const auto kind = given.empty() ? kinds.begin() : std::ranges::find(kinds, given);
    if (kind == kinds.end() || (given.empty() && kinds.size() > 1)) {
        section.fail("step_of", fmt::format("expected one of {}, the jobs of \"network\"",
                                            fmt::join(kinds, ", ")));
    }
    if (!job.speeds.empty() || section.has("service")) {
        section.fail("steps",
                     "expected no \"service\" and no \"speeds\" beside it: the network "
                     "says how long they take");
    }
    const auto number = static_cast<std::size_t>(kind - kinds.begin());
    if (job.gpus > scenario.cluster.gpus()) return;  // refused with the other jobs
    job.step = sim::LinkedStep{number, scenario.links->alone(number, job.gpus)};
    const Int128 service = static_cast<Int128>(job.step->alone.raw()) * steps;
    constexpr Duration most = days(10 * 366);
    if (service > most.raw()) section.fail("steps", "they take more than 3660 d");
    job.service = nanoseconds(static_cast<std::int64_t>(service));
}

// What all jobs have unless they say otherwise.
struct JobDefaults {
    JobPauses pauses;
    TrainedJobs* trained = nullptr;
    std::size_t trains = 0;
};

// "samples", or the service time, of what a job trains.
void read_trained_work(ConfigReader& section, std::size_t trains, const JobDefaults& defaults,
                       const ScheduleScenario& scenario, sim::SharingJob& job) {
    std::optional<std::int64_t> samples;
    constexpr std::int64_t samples_most = 1'000'000'000'000;
    if (section.has("samples")) samples = section.integer("samples", 1, samples_most);
    if (section.has("service")) {
        job.service = bounded_time(section, "service", section.duration("service"));
    }
    if (trains == 0) return;  // only keys are looked for
    if (section.has("service") && (samples || job.service <= Duration{})) {
        section.fail("service", samples ? "stands beside \"samples\": expected one of them"
                                        : "expected more than zero");
    }
    if (!job.speeds.empty()) {
        section.fail("speeds", "what it trains says how fast it is: expected no \"speeds\"");
    }
    defaults.trained->set_work(section, trains, samples, scenario.cluster.gpus(), job);
}

// How long it takes, on how many GPUs.
void read_service(ConfigReader& section, const JobDefaults& defaults, ScheduleScenario& scenario,
                  sim::SharingJob& job) {
    job.speeds = read_speeds(section);
    const auto most = static_cast<std::int64_t>(job.speeds.size()) - 1;
    job.gpus = static_cast<std::int32_t>(
        section.integer("gpus", 1, gpus_most, std::max(most, std::int64_t{1})));
    if (most > 0 && job.gpus > most) section.fail("gpus", "expected a speed for so many GPUs");
    const bool trains_own = section.has("trains");
    const std::size_t trains = trains_own ? defaults.trained->read(section) : defaults.trains;
    if (section.has("steps")) {
        read_linked_steps(section, scenario, job);
    } else if (trains_own || trains > 0) {
        read_trained_work(section, trains, defaults, scenario, job);
    } else {
        job.service = bounded_time(section, "service", section.duration("service"));
        if (job.service <= Duration{}) section.fail("service", "expected more than zero");
    }
    job.speed_of_group = read_type_speeds(section, scenario.cluster);
    const Duration start = trains > 0 ? defaults.trained->start_of(trains) : Duration{};
    set_pauses(read_pauses(section, defaults.pauses, scenario.ignored), start, job);
}

// Whose it is, and what that may have.
void read_owner(ConfigReader& section, sim::SharingJob& job) {
    if (section.has("user")) job.user = section.text("user");
    if (section.has("priority")) {
        job.priority = section.integer("priority", 1, traces::priority_most);
    }
    if (!section.has("budget_usd")) return;
    job.budget = dollars(section.number("budget_usd", budget_least_usd, budget_most_usd));
}

sim::SharingJob read_job(ConfigReader& section, std::size_t number, const JobDefaults& defaults,
                         ScheduleScenario& scenario) {
    sim::SharingJob job;
    job.name = section.text("name", fmt::format("job-{}", number));
    if (job.name.empty()) section.fail("name", "expected a name, found an empty text");
    job.arrival = Instant::at(bounded_time(section, "arrival", section.duration("arrival", {})));
    if (section.has("deadline")) {
        job.deadline = Instant::at(bounded_time(section, "deadline", section.duration("deadline")));
        if (job.deadline <= job.arrival) {
            section.fail("deadline", fmt::format("expected a time after the arrival, {}, found {}",
                                                 format_duration(job.arrival.since_start()),
                                                 format_duration(job.deadline.since_start())));
        }
    }
    read_owner(section, job);
    if (section.has("scenario")) {
        read_controlled_job(section, defaults.pauses, scenario, job);
    } else {
        read_service(section, defaults, scenario, job);
    }
    section.finish();
    return job;
}

void read_jobs_by_hand(ConfigReader& root, const JobDefaults& defaults,
                       ScheduleScenario& scenario) {
    std::set<std::string> names;
    for (ConfigReader& section : root.objects("jobs")) {
        const sim::SharingJob job = read_job(section, scenario.jobs.size(), defaults, scenario);
        if (!names.insert(job.name).second) {
            section.fail("name", fmt::format("{} stands there twice", ukemi::quoted(job.name)));
        }
        scenario.jobs.add(job);
    }
    scenario.jobs.sort_by_arrival();
}

// Jobs of a file or a generator, each as long on its GPUs as they say.
void train_all(ConfigReader& root, std::size_t trains, const JobPauses& pauses,
               const TrainedJobs& trained, ScheduleScenario& scenario) {
    if (trains == 0) return;
    scenario.jobs.change([&](sim::SharingJob& job) {
        if (job.application != nullptr) {
            root.fail("trains", "these jobs are of measured applications: expected none");
        }
        trained.set_work(root, trains, {}, scenario.cluster.gpus(), job);
        set_pauses(pauses, trained.start_of(trains), job);
    });
}

}  // namespace

void read_shared_jobs(ConfigReader& root, ScheduleScenario& scenario) {
    const JobPauses pauses = read_pauses(root, {}, scenario.ignored);
    scenario.time_scale = root.number("time_scale", 1e-3, 1e6, 1);
    TrainedJobs trained(scenario.file.parent_path(), scenario.time_scale);
    const std::size_t trains = trained.read(root);
    if (root.is_object("jobs")) {
        ConfigReader section = root.object("jobs");
        const JobDraws draws = read_job_draws(section);
        if (section.has("generate")) {
            read_generated_jobs(section.object("generate"), pauses, scenario);
            section.finish();
        } else {
            read_recorded_jobs(section, pauses, scenario);
        }
        draw_owners(section, draws, scenario);
        train_all(root, trains, pauses, trained, scenario);
    } else {
        read_jobs_by_hand(root, {pauses, &trained, trains}, scenario);
    }
    scenario.trained = trained.take();
    if (scenario.jobs.empty()) root.fail("jobs", "expected at least one job");
    const auto& groups = scenario.cluster.groups;
    const std::int32_t most = std::ranges::max(groups, {}, &sim::MachineGroup::gpus).gpus();
    for (std::size_t job = 0; job < scenario.jobs.size(); ++job) {
        const std::int32_t gpus = scenario.jobs.gpus(job);
        if (gpus <= most) continue;
        root.fail("jobs", fmt::format("job {} asks for {} GPUs, the cluster has {}{}",
                                      ukemi::quoted(scenario.jobs.name(job)), gpus, most,
                                      groups.size() > 1 ? " of a type at most" : ""));
    }
}

}  // namespace ukemi::scenarios
