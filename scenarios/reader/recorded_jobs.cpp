// recorded_jobs.cpp — reads the jobs of workload files and of generators.
#include "scenarios/reader/recorded_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/plain_text.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "traces/step_rates.hpp"
#include "traces/workload_file.hpp"
#include "traces/workload_model.hpp"

namespace ukemi::scenarios {

namespace {

namespace fs = std::filesystem;

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
    if (row.slo > 0) job.deadline = job.arrival + seconds(row.slo * to_seconds(job.service));
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

sim::SharingJob job_of(const traces::WorkloadRow& row) {
    sim::SharingJob job;
    job.name = row.name;
    job.arrival = Instant::at(row.arrival);
    job.gpus = row.gpus;
    job.service = row.service;
    job.deadline = Instant::at(row.deadline);
    job.batch = row.batch;
    job.user = row.user;
    job.priority = row.priority;
    if (row.budget_usd) job.budget = dollars(*row.budget_usd);
    return job;
}

}  // namespace

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
        scenario.jobs.add({});
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
    // Rows that cannot be read are refused before such as do not fit the scenario.
    std::exception_ptr refused;
    const auto add = [&](const traces::WorkloadRow& row) {
        sim::SharingJob job = job_of(row);
        set_pauses(pauses, {}, job);
        if (!row.kind.empty()) read_counted_steps(section, row, rates, scenario.cluster, job);
        if (!row.application.empty()) {
            read_application(section, row, pauses, predictor, scenario, job);
        }
        scenario.jobs.add(job);
    };
    const Duration zero = traces::scan_workloads(files, [&](const traces::WorkloadRow& row) {
        if (refused) return;
        try {
            add(row);
        } catch (const InputError&) {
            refused = std::current_exception();
        }
    });
    if (refused) std::rethrow_exception(refused);
    scenario.jobs.set_clock_back(zero);
    scenario.jobs.sort_by_arrival();
    section.finish();
}

void read_generated_jobs(ConfigReader config, const JobPauses& pauses, ScheduleScenario& scenario) {
    const fs::path file = scenario.file.parent_path() / config.text("workload");
    const Duration length = bounded_time(config, "length", config.duration("length"));
    constexpr double rate_most = 1000;
    const double rate = config.number("rate", 0.001, rate_most, 1);
    config.finish();
    if (KeyExplorer::of(config.file()) != nullptr) {  // only keys are looked for, and no files
        scenario.jobs.add({});
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
        sim::SharingJob job = job_of(row);
        set_pauses(pauses, {}, job);
        scenario.jobs.add(job);
    }
    if (scenario.jobs.empty()) config.fail("length", "no job came in it: expected a longer one");
}

}  // namespace ukemi::scenarios
