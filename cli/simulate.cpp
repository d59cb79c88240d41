// simulate.cpp — `ukemi simulate`: where the time of a training step goes on a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/csv_writer.hpp"
#include "base/read_file.hpp"
#include "base/statistics.hpp"
#include "cli/command.hpp"
#include "scenarios/step_scenario.hpp"
#include "sim/step/perfetto_trace.hpp"

namespace ukemi {

namespace {

struct Options {
    std::string scenario;
    std::vector<std::string> settings;
    bool json = false;
    std::string csv;
    std::string perfetto;
    std::int64_t traced_steps = 2;
};

struct Part {
    std::string_view name;  // in files
    std::string_view words;
    Duration StepParts::*value;
};
constexpr std::array<Part, 5> parts = {{
    {"input", "waiting for input", &StepParts::input},
    {"compute", "compute (mean worker)", &StepParts::compute},
    {"straggler", "waiting for the slowest", &StepParts::straggler},
    {"sending", "exposed communication", &StepParts::sending},
    {"agreeing", "cycles and negotiation", &StepParts::agreeing},
}};

// Means over the steps after the warm-up.
struct JobSummary {
    std::string name;
    Summary step_s;
    std::array<double, parts.size()> part_s{};
    double samples_per_second = 0;
    double efficiency = 0;  // of as many workers that never wait
};

JobSummary summary_of(const StepJobEntry& entry, const JobSteps& result, std::int64_t warm_up) {
    JobSummary summary;
    summary.name = entry.job.name;
    const auto counted = std::span(result.steps).subspan(static_cast<std::size_t>(warm_up));
    std::vector<double> times;
    for (const StepRecord& step : counted) {
        times.push_back(to_seconds(step.end - step.begin));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            summary.part_s[i] += to_seconds(step.parts.*parts[i].value);
        }
    }
    for (double& one : summary.part_s) one /= static_cast<double>(counted.size());
    summary.step_s = summarise(times);
    summary.samples_per_second =
        static_cast<double>(entry.job.samples_per_step()) / summary.step_s.mean;
    summary.efficiency =
        entry.alone_s * static_cast<double>(entry.job.accumulation) / summary.step_s.mean;
    return summary;
}

void print_job(const StepJobEntry& entry, const JobSteps& result, const JobSummary& summary) {
    const StepJob& job = entry.job;
    fmt::print("\njob {}: {} on {} worker{} ({}), batch {} x {} = {}\n", job.name, entry.model,
               job.workers.size(), job.workers.size() == 1 ? "" : "s", entry.gpus, job.batch,
               static_cast<std::int64_t>(job.workers.size()) * job.accumulation,
               job.samples_per_step());
    fmt::print("  compute time: {}\n", entry.curve);
    if (!result.collective.empty()) {
        fmt::print("  {:.4g} MB of gradients in {} bucket{}, {}, {}{}\n",
                   static_cast<double>(entry.gradient.raw()) / 1e6, job.buckets.size(),
                   job.buckets.size() == 1 ? "" : "s",
                   launch_kind_names[static_cast<std::size_t>(job.launch.kind)], result.collective,
                   entry.why.empty() ? "" : " (the cheapest)");
        if (!entry.why.empty()) fmt::print("  {}\n", entry.why);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        fmt::print("  {:<26}{:>11.3f} ms{:>8.1f} %\n", parts[i].words, summary.part_s[i] * 1e3,
                   100 * summary.part_s[i] / summary.step_s.mean);
    }
    fmt::print("  {:<26}{:>11.3f} ms   from {:.3f} to {:.3f}\n", "step", summary.step_s.mean * 1e3,
               summary.step_s.min * 1e3, summary.step_s.max * 1e3);
    fmt::print("  {:<26}{:>11.1f} samples/s, {:.1f} a worker, efficiency {:.3f}\n", "throughput",
               summary.samples_per_second,
               summary.samples_per_second / static_cast<double>(job.workers.size()),
               summary.efficiency);
}

void print_json(const StepScenario& scenario, std::span<const JobSteps> results,
                std::span<const JobSummary> summaries) {
    nlohmann::json jobs = nlohmann::json::array();
    for (std::size_t j = 0; j < summaries.size(); ++j) {
        const JobSummary& summary = summaries[j];
        const StepJobEntry& entry = scenario.jobs[j];
        nlohmann::json part_s;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            part_s[std::string(parts[i].name)] = summary.part_s[i];
        }
        jobs.push_back({{"name", summary.name},
                        {"model", entry.model},
                        {"workers", entry.job.workers.size()},
                        {"samples_per_step", entry.job.samples_per_step()},
                        {"buckets", entry.job.buckets.size()},
                        {"collective", results[j].collective},
                        {"collective_choice", entry.why},
                        {"compute_source", entry.curve},
                        {"step_s",
                         {{"mean", summary.step_s.mean},
                          {"min", summary.step_s.min},
                          {"median", summary.step_s.median},
                          {"max", summary.step_s.max}}},
                        {"parts_s", part_s},
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

std::string steps_csv(const StepScenario& scenario, std::span<const JobSteps> results) {
    std::vector<std::string> columns{"job", "step", "begin_s", "step_s", "samples"};
    for (const Part& part : parts) columns.push_back(fmt::format("{}_s", part.name));
    CsvWriter csv(columns);
    for (std::size_t j = 0; j < results.size(); ++j) {
        const StepJob& job = scenario.jobs[j].job;
        std::int64_t number = 0;
        for (const StepRecord& step : results[j].steps) {
            csv.add(job.name).add(number++).add(to_seconds(step.begin.since_start()));
            csv.add(to_seconds(step.end - step.begin)).add(job.samples_per_step());
            for (const Part& part : parts) csv.add(to_seconds(step.parts.*part.value));
            csv.end_row();
        }
    }
    return csv.text();
}

void simulate(const Options& options) {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.settings) {
        overrides.push_back(parse_override(setting));
    }
    const StepScenario scenario = read_step_scenario(options.scenario, overrides);
    std::vector<StepJob> jobs;
    for (const StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    StepOptions step_options;
    step_options.seed = scenario.seed;
    step_options.detailed_steps = options.perfetto.empty() ? 0 : options.traced_steps;
    const std::vector<JobSteps> results =
        run_steps(scenario.topology, jobs, scenario.cross_traffic, step_options);
    std::vector<JobSummary> summaries;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        summaries.push_back(summary_of(scenario.jobs[j], results[j], scenario.warm_up));
    }
    if (!options.csv.empty()) write_file_atomically(options.csv, steps_csv(scenario, results));
    if (!options.perfetto.empty()) {
        write_file_atomically(options.perfetto, perfetto_trace(scenario.topology, jobs, results));
    }
    if (options.json) return print_json(scenario, results, summaries);
    fmt::print("{}: {}, {} workers; means without the first {} steps\n", scenario.name,
               scenario.cluster, scenario.topology.workers().size(), scenario.warm_up);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        print_job(scenario.jobs[j], results[j], summaries[j]);
    }
}

}  // namespace

void add_simulate(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("simulate", "where the time of a training step goes on a cluster");
    command->add_option("SCENARIO", options->scenario, "a scenario with sections cluster and job")
        ->required();
    command->add_option("--set", options->settings, "change the scenario: /json/pointer=VALUE");
    command->add_flag("--json", options->json, "print JSON instead of tables");
    command->add_option("--csv", options->csv, "write a row a step to this file");
    command->add_option("--perfetto", options->perfetto,
                        "write a trace of the first steps to this file (ui.perfetto.dev)");
    command->add_option("--traced-steps", options->traced_steps, "how many steps of each job")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->callback([options] { simulate(*options); });
}

}  // namespace ukemi
