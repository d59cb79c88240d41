// schedule_scenario.cpp — reads a scenario of jobs that share a cluster.
#include "scenarios/reader/schedule_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/complaint_list.hpp"
#include "base/plain_text.hpp"
#include "scenarios/reader/controlled_jobs.hpp"
#include "scenarios/reader/job_pauses.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/trained_jobs.hpp"
#include "schedulers/multiple_choice.hpp"
#include "traces/step_rates.hpp"
#include "traces/workload_file.hpp"
#include "traces/workload_model.hpp"

namespace ukemi::scenarios {

namespace {

namespace fs = std::filesystem;

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
    const Duration start = trains > 0 ? defaults.trained->restart_of(trains) : Duration{};
    set_pauses(read_pauses(section, defaults.pauses, scenario.ignored), start, job);
}

sim::SharingJob read_job(ConfigReader& section, std::size_t number, const JobDefaults& defaults,
                         ScheduleScenario& scenario) {
    sim::SharingJob job;
    job.name = section.text("name", fmt::format("job-{}", number));
    job.arrival = Instant::at(bounded_time(section, "arrival", section.duration("arrival", {})));
    if (section.has("deadline")) {
        job.deadline = Instant::at(bounded_time(section, "deadline", section.duration("deadline")));
    }
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
        scenario.jobs.push_back(read_job(section, scenario.jobs.size(), defaults, scenario));
        if (!names.insert(scenario.jobs.back().name).second) {
            section.fail("name", fmt::format("{} stands there twice",
                                             ukemi::quoted(scenario.jobs.back().name)));
        }
    }
    std::ranges::stable_sort(scenario.jobs, {}, &sim::SharingJob::arrival);
}

// One folder, or one for each type of GPU.
std::vector<traces::MeasuredFolder> read_measured_folders(ConfigReader& section,
                                                          const fs::path& folder) {
    std::vector<traces::MeasuredFolder> all;
    if (!section.has("measured")) return all;
    if (section.is_object("measured")) {
        ConfigReader by_type = section.object("measured");
        for (const std::string& type : by_type.keys()) {
            all.push_back({type, folder / by_type.text(type)});
        }
    } else {
        all.push_back({"", folder / section.text("measured")});
    }
    const bool explores = KeyExplorer::of(section.file()) != nullptr;
    for (const traces::MeasuredFolder& one : all) {
        if (explores || fs::is_directory(one.folder)) continue;
        section.fail("measured", fmt::format("there is no folder {}", one.folder.string()));
    }
    return all;
}

// Of Gavel's traces: as long as the steps take on the first type of GPU that can run them.
void read_counted_steps(ConfigReader& section, const traces::WorkloadRow& row,
                        const std::optional<traces::StepRates>& rates,
                        const sim::SharedCluster& cluster, sim::SharingJob& job) {
    if (!rates) {
        section.fail("workload",
                     "its jobs count steps: expected \"steps_per_s\" beside it, Gavel's "
                     "table of how many a second each type of GPU makes");
    }
    double first = 0;
    for (const sim::MachineGroup& group : cluster.groups) {
        const double rate = rates->steps_per_s(group.gpu_type, row.kind);
        if (first == 0 && rate > 0) {
            first = rate;
            constexpr double most_s = 10 * 366 * 86400.0;
            const double service_s = static_cast<double>(row.steps) / rate;
            if (service_s > most_s) section.fail("workload", "a job's steps take over 3660 d");
            job.service = seconds(service_s);
        }
        job.speed_of_group.push_back(first > 0 ? round_nearest(rate / first * 1e6) : 0);
    }
    if (first == 0) {
        section.fail("steps_per_s", fmt::format("no type of GPU of the cluster runs {}, job {}",
                                                row.kind, ukemi::quoted(row.name)));
    }
}

void read_application(ConfigReader& section, const traces::WorkloadRow& row,
                      const JobPauses& pauses, sim::JobPredictor predictor,
                      const ScheduleScenario& scenario, sim::SharingJob& job) {
    if (!scenario.tables) {
        section.fail("workload", fmt::format("job {} names an application: expected \"tables\" "
                                             "beside it, a folder of what was measured",
                                             ukemi::quoted(row.name)));
    }
    job.application = scenario.tables->find(row.application);
    if (job.application == nullptr) {
        section.fail("tables",
                     fmt::format("there is no application {}; there is {}",
                                 ukemi::quoted(row.application), scenario.tables->names()));
    }
    set_pauses(pauses, job.application->restart, job);
    job.predictor = predictor;
    if (!scenario.batches) return;
    const auto recorded = scenario.batches->find(row.name);
    if (recorded == scenario.batches->end()) {
        section.fail("batches", fmt::format("there are none of job {}", ukemi::quoted(row.name)));
    }
    job.recorded_batches = recorded->second;
}

// Files lie beside the scenario, or where their paths say.
void read_recorded_jobs(ConfigReader& section, const JobPauses& pauses,
                        ScheduleScenario& scenario) {
    const fs::path folder = fs::path(section.file()).parent_path();
    std::vector<fs::path> files = {folder / section.text("workload")};
    if (section.has("merged_with")) {
        for (const std::string& file : section.texts("merged_with")) files.push_back(folder / file);
    }
    std::string tables;
    std::string batches;
    bool interpolates = false;
    auto predictor = sim::JobPredictor::known;
    std::vector<traces::MeasuredFolder> measured;
    if (section.has("tables")) {
        tables = section.text("tables");
        interpolates = section.flag("interpolate", false);
        measured = read_measured_folders(section, folder);
        static const std::vector<std::string_view> names = {"known", "fitted"};
        if (section.one_of("predictor", names, "known") == "fitted") {
            predictor = sim::JobPredictor::fitted;
        }
        if (section.has("batches")) batches = section.text("batches");
    }
    std::string rates_file;
    if (section.has("steps_per_s")) rates_file = section.text("steps_per_s");
    if (KeyExplorer::of(section.file()) != nullptr) {  // only keys are looked for, and no files
        scenario.jobs.emplace_back();
        return;
    }
    std::optional<traces::StepRates> rates;
    if (!rates_file.empty()) rates.emplace(folder / rates_file);
    if (predictor == sim::JobPredictor::fitted && scenario.cluster.groups.size() > 1) {
        section.fail("predictor", "steps are fitted on one type of GPU: expected \"known\"");
    }
    if (!tables.empty()) {
        scenario.tables =
            std::make_shared<traces::ApplicationTables>(folder / tables, interpolates, measured);
    }
    if (!batches.empty()) {
        scenario.batches = std::make_shared<const RecordedBatches>(
            traces::read_recorded_batches(folder / batches));
    }
    for (const traces::WorkloadRow& row : traces::read_workloads(files)) {
        sim::SharingJob& job = scenario.jobs.emplace_back();
        job.name = row.name;
        job.arrival = Instant::at(row.arrival);
        job.gpus = row.gpus;
        job.service = row.service;
        job.deadline = Instant::at(row.deadline);
        job.batch = row.batch;
        set_pauses(pauses, {}, job);
        if (!row.kind.empty()) read_counted_steps(section, row, rates, scenario.cluster, job);
        if (row.application.empty()) continue;
        read_application(section, row, pauses, predictor, scenario, job);
    }
    section.finish();
}

// By the generator that `ukemi fit --jobs` set to a record.
void read_generated_jobs(ConfigReader config, const JobPauses& pauses, ScheduleScenario& scenario) {
    const fs::path file = scenario.file.parent_path() / config.text("workload");
    const Duration length = bounded_time(config, "length", config.duration("length"));
    constexpr double rate_most = 1000;
    const double rate = config.number("rate", 0.001, rate_most, 1);
    config.finish();
    if (KeyExplorer::of(config.file()) != nullptr) {  // only keys are looked for, and no files
        scenario.jobs.emplace_back();
        return;
    }
    const traces::WorkloadModel model = traces::read_workload_model(file);
    const double most = rate * std::ranges::max(model.bursts_per_h) * model.burst_jobs.back();
    constexpr double jobs_most = 10'000'000;
    if (most * to_hours(length) > jobs_most) {
        config.fail("length", "expected a time in which at most 10 million jobs may come");
    }
    for (const traces::WorkloadRow& row :
         traces::draw_workload(model, scenario.cluster.seed, {}, length, rate)) {
        sim::SharingJob& job = scenario.jobs.emplace_back();
        job.name = row.name;
        job.arrival = Instant::at(row.arrival);
        job.gpus = row.gpus;
        job.service = row.service;
        set_pauses(pauses, {}, job);
    }
    if (scenario.jobs.empty()) config.fail("length", "no job came in it: expected a longer one");
}

// Jobs of a file or a generator, each as long on its GPUs as they say.
void train_all(ConfigReader& root, std::size_t trains, const JobPauses& pauses,
               const TrainedJobs& trained, ScheduleScenario& scenario) {
    if (trains == 0) return;
    for (sim::SharingJob& job : scenario.jobs) {
        if (job.application != nullptr) {
            root.fail("trains", "these jobs are of measured applications: expected none");
        }
        trained.set_work(root, trains, {}, scenario.cluster.gpus(), job);
        set_pauses(pauses, trained.restart_of(trains), job);
    }
}

void read_jobs(ConfigReader& root, ScheduleScenario& scenario) {
    const JobPauses pauses = read_pauses(root, {}, scenario.ignored);
    scenario.time_scale = root.number("time_scale", 1e-3, 1e6, 1);
    TrainedJobs trained(scenario.file.parent_path(), scenario.time_scale);
    const std::size_t trains = trained.read(root);
    if (root.is_object("jobs")) {
        ConfigReader section = root.object("jobs");
        if (section.has("generate")) {
            read_generated_jobs(section.object("generate"), pauses, scenario);
            section.finish();
        } else {
            read_recorded_jobs(section, pauses, scenario);
        }
        train_all(root, trains, pauses, trained, scenario);
    } else {
        read_jobs_by_hand(root, {pauses, &trained, trains}, scenario);
    }
    scenario.trained = trained.take();
    if (scenario.jobs.empty()) root.fail("jobs", "expected at least one job");
    const auto& groups = scenario.cluster.groups;
    const std::int32_t most = std::ranges::max(groups, {}, &sim::MachineGroup::gpus).gpus();
    for (const sim::SharingJob& job : scenario.jobs) {
        if (job.gpus <= most) continue;
        root.fail("jobs", fmt::format("job {} asks for {} GPUs, the cluster has {}{}",
                                      ukemi::quoted(job.name), job.gpus, most,
                                      groups.size() > 1 ? " of a type at most" : ""));
    }
}

bool in_whole_seconds(Duration time) { return round_down_to(time, whole_seconds(1)) == time; }

void check_rounds(ConfigReader& root, const ScheduleScenario& scenario) {
    const bool measured = std::ranges::any_of(
        scenario.jobs, [](const sim::SharingJob& job) { return job.application != nullptr; });
    if (!measured) return;
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
    read_jobs(root, scenario);
    leave_out(scenario.ignored, scenario);
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
