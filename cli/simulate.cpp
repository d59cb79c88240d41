// simulate.cpp — `ukemi simulate`: where the time of a training step goes on a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/output_folder.hpp"
#include "base/csv_writer.hpp"
#include "base/statistics.hpp"
#include "cli/command.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/step/perfetto_trace.hpp"

namespace ukemi::cli {

namespace {

struct SimulateOptions {
    std::string scenario;
    std::vector<std::string> settings;
    bool json = false;
    std::string csv;
    std::string perfetto;
    std::int64_t traced_steps = 2;
    bool force = false;
};

// Means over the steps after the warm-up.
struct JobSummary {
    std::string name;
    Summary step_s;
    std::array<double, sim::step_parts.size()> part_s{};
    double samples_per_second = 0;
    double of_a_worker = 0;  // of those, by the workers that were there
    double efficiency = 0;   // of as many workers that never wait
};

JobSummary summary_of(const scenarios::StepJobEntry& entry, const sim::JobSteps& result,
                      std::int64_t warm_up) {
    JobSummary summary;
    summary.name = entry.job.name;
    const auto counted = std::span(result.steps).subspan(static_cast<std::size_t>(warm_up));
    std::vector<double> times;
    double samples = 0;
    double worker_seconds = 0;
    for (const sim::StepRecord& step : counted) {
        samples += static_cast<double>(step.samples);
        times.push_back(to_seconds(step.end - step.begin));
        worker_seconds += static_cast<double>(step.workers) * times.back();
        for (std::size_t i = 0; i < sim::step_parts.size(); ++i) {
            summary.part_s[i] += to_seconds(step.parts.*sim::step_parts[i].value);
        }
    }
    for (double& one : summary.part_s) one /= static_cast<double>(counted.size());
    summary.step_s = summarise(times);
    summary.samples_per_second =
        samples / static_cast<double>(counted.size()) / summary.step_s.mean;
    summary.of_a_worker = samples / worker_seconds;
    summary.efficiency = entry.alone_s / summary.step_s.mean;
    return summary;
}

double mean_staleness(const sim::Staleness& staleness) {
    return static_cast<double>(staleness.sum) /
           static_cast<double>(std::max<std::int64_t>(staleness.updates, 1));
}

double gigabytes(Bytes bytes) { return static_cast<double>(bytes.raw()) / 1e9; }

std::string words_of(const sim::LayoutRequest& request) {
    std::string text = fmt::format("tensor {} x pipeline {} x data {}", request.degrees.tensor,
                                   request.degrees.pipeline, request.degrees.data);
    if (request.degrees.pipeline > 1) {
        text += fmt::format(", {}",
                            sim::pipeline_kind_names[static_cast<std::size_t>(request.schedule)]);
        if (request.chunks > 1) text += fmt::format(" in {} chunks", request.chunks);
    }
    if (request.recompute) text += ", blocks computed again";
    if (request.split_dense) text += ", fully connected layers split";
    if (request.synchronised_norm) text += ", batch normalisation synchronised";
    return text;
}

void print_job(const scenarios::StepJobEntry& entry, const sim::JobSteps& result,
               const JobSummary& summary) {
    const sim::StepJob& job = entry.job;
    fmt::print("\njob {}: {} on {} worker{} ({}), batch {} x {} = {}\n", job.name, entry.model,
               job.workers.size(), job.workers.size() == 1 ? "" : "s", entry.gpus, job.batch,
               job.replicas() * job.accumulation, job.samples_per_step());
    if (job.layout) fmt::print("  {}\n", words_of(entry.request));
    fmt::print("  {:.4g} GB a GPU: {:.4g} parameters, gradients and optimiser, {:.4g} kept",
               gigabytes(entry.memory.need.total()), gigabytes(entry.memory.need.parameters),
               gigabytes(entry.memory.need.kept));
    if (job.layout) fmt::print(" (the whole model: {:.4g})", gigabytes(entry.whole.total()));
    fmt::print("\n  compute time: {}\n", entry.curve);
    if (!result.collective.empty()) {
        fmt::print("  {:.4g} MB of gradients{} in {} bucket{}, {}, {}{}\n",
                   static_cast<double>(entry.gradient.raw()) / 1e6, job.layout ? " a GPU" : "",
                   entry.buckets, entry.buckets == 1 ? "" : "s",
                   sim::launch_kind_names[static_cast<std::size_t>(job.launch.kind)],
                   result.collective, entry.why.empty() ? "" : " (the cheapest)");
        if (!entry.why.empty()) fmt::print("  {}\n", entry.why);
    }
    if (entry.coded.message > Bytes{}) {
        fmt::print(
            "  {}: {:.4g} MB a worker instead of {:.4g}, {}; {:.3g} ms to encode, {:.3g} to "
            "decode\n",
            entry.codec.name, static_cast<double>(entry.coded.message.raw()) / 1e6,
            static_cast<double>(entry.coded.gradient.raw()) / 1e6,
            entry.coded.reduces ? "all-reduced" : "all-gathered",
            to_seconds(entry.coded.encode) * 1e3, to_seconds(entry.coded.decode) * 1e3);
    }
    if (!job.servers.empty()) {
        fmt::print("  {}: at most {:.4g} MB on one of {} servers\n",
                   sim::variable_update_names[static_cast<std::size_t>(entry.update)],
                   static_cast<double>(entry.most_on_a_server.raw()) / 1e6, job.servers.size());
    }
    if (result.staleness.updates > 0) {
        fmt::print("  staleness {:.2f} updates in the mean, {} at most\n",
                   mean_staleness(result.staleness), result.staleness.most);
    }
    for (std::size_t i = 0; i < sim::step_parts.size(); ++i) {
        if (sim::step_parts[i].of_some && summary.part_s[i] == 0) continue;
        fmt::print("  {:<26}{:>11.3f} ms{:>8.1f} %\n", sim::step_parts[i].words,
                   summary.part_s[i] * 1e3, 100 * summary.part_s[i] / summary.step_s.mean);
    }
    fmt::print("  {:<26}{:>11.3f} ms   from {:.3f} to {:.3f}\n", "step", summary.step_s.mean * 1e3,
               summary.step_s.min * 1e3, summary.step_s.max * 1e3);
    fmt::print("  {:<26}{:>11.1f} samples/s, {:.1f} a worker, efficiency {:.3f}\n", "throughput",
               summary.samples_per_second, summary.of_a_worker, summary.efficiency);
}

void print_json(const scenarios::StepScenario& scenario, std::span<const sim::JobSteps> results,
                std::span<const JobSummary> summaries) {
    nlohmann::json jobs = nlohmann::json::array();
    for (std::size_t j = 0; j < summaries.size(); ++j) {
        const JobSummary& summary = summaries[j];
        const scenarios::StepJobEntry& entry = scenario.jobs[j];
        nlohmann::json part_s;
        for (std::size_t i = 0; i < sim::step_parts.size(); ++i) {
            part_s[std::string(sim::step_parts[i].name)] = summary.part_s[i];
        }
        jobs.push_back(
            {{"name", summary.name},
             {"model", entry.model},
             {"workers", entry.job.workers.size()},
             {"samples_per_step", entry.job.samples_per_step()},
             {"layout", words_of(entry.request)},
             {"bytes_per_gpu",
              {{"total", entry.memory.need.total().raw()},
               {"parameters", entry.memory.need.parameters.raw()},
               {"kept", entry.memory.need.kept.raw()},
               {"whole_model", entry.whole.total().raw()}}},
             {"gradient_bytes", entry.gradient.raw()},
             {"buckets", entry.buckets},
             {"collective", results[j].collective},
             {"collective_choice", entry.why},
             {"compute_source", entry.curve},
             {"step_s",
              {{"mean", summary.step_s.mean},
               {"min", summary.step_s.min},
               {"median", summary.step_s.median},
               {"max", summary.step_s.max}}},
             {"parts_s", part_s},
             {"codec", entry.codec.name},
             {"coded_bytes", entry.coded.message.raw()},
             {"variable_update",
              sim::variable_update_names[static_cast<std::size_t>(entry.update)]},
             {"servers", entry.job.servers.size()},
             {"staleness",
              {{"mean", mean_staleness(results[j].staleness)}, {"max", results[j].staleness.most}}},
             {"samples_per_s", summary.samples_per_second},
             {"efficiency", summary.efficiency}});
    }
    const nlohmann::json document{{"scenario", scenario.name},
                                  {"seed", scenario.seed},
                                  {"cluster", scenario.cluster},
                                  {"warm_up", scenario.warm_up},
                                  {"jobs", jobs}};
    fmt::print("{}\n", document.dump(2));
}

std::string steps_csv(const scenarios::StepScenario& scenario,
                      std::span<const sim::JobSteps> results) {
    std::vector<std::string> columns{"job", "step", "begin_s", "step_s", "samples", "workers"};
    for (const sim::StepPart& part : sim::step_parts)
        columns.push_back(fmt::format("{}_s", part.name));
    CsvWriter csv(columns);
    for (std::size_t j = 0; j < results.size(); ++j) {
        const sim::StepJob& job = scenario.jobs[j].job;
        std::int64_t number = 0;
        for (const sim::StepRecord& step : results[j].steps) {
            csv.add(job.name).add(number++).add(to_seconds(step.begin.since_start()));
            csv.add(to_seconds(step.end - step.begin)).add(step.samples).add(step.workers);
            for (const sim::StepPart& part : sim::step_parts)
                csv.add(to_seconds(step.parts.*part.value));
            csv.end_row();
        }
    }
    return csv.text();
}

void simulate(const SimulateOptions& options) {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.settings) {
        overrides.push_back(parse_override(setting));
    }
    const scenarios::StepScenario scenario =
        scenarios::read_step_scenario(options.scenario, overrides);
    std::optional<analysis::OutputFile> csv;
    std::optional<analysis::OutputFile> perfetto;
    if (!options.csv.empty()) csv.emplace(options.csv, options.force);
    if (!options.perfetto.empty()) perfetto.emplace(options.perfetto, options.force);
    std::vector<sim::StepJob> jobs;
    for (const scenarios::StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    sim::StepOptions step_options;
    step_options.seed = scenario.seed;
    step_options.detailed_steps = options.perfetto.empty() ? 0 : options.traced_steps;
    const std::vector<sim::JobSteps> results = sim::run_steps(
        scenario.topology, jobs, scenario.cross_traffic, step_options, scenario.events);
    std::vector<JobSummary> summaries;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        summaries.push_back(summary_of(scenario.jobs[j], results[j], scenario.warm_up));
    }
    if (csv) csv->write(steps_csv(scenario, results));
    if (perfetto) perfetto->write(sim::perfetto_trace(scenario.topology, jobs, results));
    if (options.json) return print_json(scenario, results, summaries);
    fmt::print("{}: {}, {} workers; means without the first {} steps\n", scenario.name,
               scenario.cluster, scenario.topology.workers().size(), scenario.warm_up);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        print_job(scenario.jobs[j], results[j], summaries[j]);
    }
}

}  // namespace

void add_simulate(CLI::App& app) {
    auto options = std::make_shared<SimulateOptions>();
    CLI::App* command =
        app.add_subcommand("simulate", "where the time of a training step goes on a cluster");
    command->add_option("SCENARIO", options->scenario, "a scenario with sections cluster and job")
        ->required();
    command->add_option("--set", options->settings, "change the scenario: /json/pointer=VALUE");
    command->add_flag("--json", options->json, "print JSON instead of tables");
    command->add_option("--csv", options->csv, "write a row a step to this file");
    command->add_option("--perfetto", options->perfetto,
                        "write a trace of the first steps to this file (ui.perfetto.dev)");
    command->add_flag("--force", options->force, "replace files that are there already");
    command->add_option("--traced-steps", options->traced_steps, "how many steps of each job")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->callback([options] { simulate(*options); });
}

}  // namespace ukemi::cli
