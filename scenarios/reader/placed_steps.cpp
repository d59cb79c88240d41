// placed_steps.cpp — writes the scenario of those who run at once, and plays it.
#include "scenarios/reader/placed_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "scenarios/reader/simulated_steps.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/jobs/batch_ladder.hpp"

namespace ukemi::scenarios {

using nlohmann::json;

namespace {

void expect_machines(const StepScenario& steps, const sim::SharedCluster& cluster) {
    const auto refuse = [&](const std::string& problem) {
        throw InputError(steps.file.string(), "/cluster", problem);
    };
    if (cluster.groups.size() > 1) {
        refuse("expected jobs that share machines of one kind, as this network has");
    }
    const sim::MachineGroup& group = cluster.groups.front();
    std::vector<std::int32_t> workers(steps.topology.machines().size(), 0);
    for (const sim::DeviceId worker : steps.topology.workers()) {
        ++workers[static_cast<std::size_t>(steps.topology.device(worker).machine)];
    }
    if (std::ssize(workers) != group.machines) {
        refuse(fmt::format("expected {} machines, as many as the jobs share; found {}",
                           group.machines, workers.size()));
    }
    for (const std::int32_t gpus : workers) {
        if (gpus == group.gpus_per_machine) continue;
        refuse(fmt::format("expected {} GPUs a machine, as the jobs share; found {}",
                           group.gpus_per_machine, gpus));
    }
}

}  // namespace

PlacedSteps::PlacedSteps(const std::filesystem::path& file, const sim::SharedCluster& cluster)
    : file_(file), cluster_(cluster) {
    const StepScenario steps = read_step_scenario(file);
    expect_machines(steps, cluster);
    if (!steps.events.links.empty() || !steps.events.departures.empty()) {
        throw InputError(file.string(), "/events",
                         "expected none: each set of jobs that run at once is measured anew, and "
                         "would meet them at its own time");
    }
    json document = json::parse(read_file(file), nullptr, true, true);  // with comments
    const json jobs = document.contains("jobs") ? document["jobs"] : json::array({document["job"]});
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const StepJobEntry& entry = steps.jobs[i];
        if (entry.job.asynchronous || entry.job.workload || !entry.job.servers.empty()) {
            throw InputError(file.string(),
                             document.contains("jobs") ? fmt::format("/jobs/{}", i) : "/job",
                             "expected workers that exchange gradients with each other: no "
                             "servers, and no recorded workload");
        }
        kinds_.push_back(entry.job.name);
        json job = jobs[i];
        job.erase("workers");
        job.erase("machines");
        templates_.push_back(job.dump());
    }
    document.erase("job");
    document.erase("jobs");
    rest_ = document.dump();
}

Duration PlacedSteps::alone(std::size_t kind, std::int32_t gpus) {
    std::vector<sim::GpusOnMachine> machines;
    std::int32_t machine = 0;
    const sim::MachineGroup& group = cluster_.groups.front();
    for (const std::int32_t some : sim::gpus_by_machine(gpus, 1, group.gpus_per_machine)) {
        machines.push_back({machine++, some});
    }
    const PlacedJob job{kind, machines};
    return step_times({&job, 1}).front();
}

std::vector<Duration> PlacedSteps::step_times(std::span<const PlacedJob> together) {
    if (together.empty()) return {};
    const std::string document = document_of(together);
    const auto known = known_.find(document);
    if (known != known_.end()) return known->second;
    const StepScenario steps = step_scenario_from_text(document, file_);
    std::vector<sim::StepJob> jobs;
    for (const StepJobEntry& entry : steps.jobs) jobs.push_back(entry.job);
    sim::StepOptions options;
    options.seed = steps.seed;
    options.network = steps.network;
    options.until_all_are_done = true;
    std::vector<Duration> times;
    for (const sim::JobSteps& result :
         sim::run_steps(steps.topology, jobs, steps.cross_traffic, options)) {
        times.push_back(mean_of_steps(result, steps.warm_up));
    }
    return known_[document] = times;
}

std::string PlacedSteps::document_of(std::span<const PlacedJob> together) const {
    json document = json::parse(rest_);
    json& jobs = document["jobs"] = json::array();
    std::vector<std::size_t> met(kinds_.size(), 0);
    for (const PlacedJob& placed : together) {
        json job = json::parse(templates_[placed.kind]);
        const std::size_t before = met[placed.kind]++;
        job["name"] = before == 0 ? kinds_[placed.kind]
                                  : fmt::format("{} {}", kinds_[placed.kind], before + 1);
        for (const auto& [machine, gpus] : placed.machines) {
            for (std::int32_t i = 0; i < gpus; ++i) job["machines"].push_back(machine);
        }
        jobs.push_back(std::move(job));
    }
    return document.dump();
}

}  // namespace ukemi::scenarios
