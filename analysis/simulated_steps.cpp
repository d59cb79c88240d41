#include "analysis/simulated_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/scenario_folder.hpp"
#include "analysis/simulated_figures.hpp"
#include "base/csv_writer.hpp"
#include "base/first_failure.hpp"
#include "base/read_file.hpp"
#include "policies/codec_text.hpp"
#include "records/varied_columns.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

SimulatedJob job_of(const scenarios::StepScenario& scenario, std::size_t number,
                    const sim::JobSteps& result) {
    const scenarios::StepJobEntry& entry = scenario.jobs[number];
    SimulatedJob summary;
    summary.varied = scenario.varied;
    summary.name = entry.job.name;
    summary.workers = static_cast<std::int64_t>(entry.job.workers.size());
    summary.samples_per_step = entry.job.samples_per_step();
    const auto counted =
        std::span(result.steps).subspan(static_cast<std::size_t>(scenario.warm_up));
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
    summary.counted = std::ssize(counted);
    summary.samples_per_s = samples / static_cast<double>(counted.size()) / summary.step_s.mean;
    summary.of_a_worker = samples / worker_seconds;
    summary.efficiency = entry.alone_s / summary.step_s.mean;
    summary.staleness = sim::staleness_of(counted);
    return summary;
}

// Of the job's steps after its warm-up: those that end after another job's last one.
std::int64_t steps_with_fewer(std::span<const sim::JobSteps> all, std::size_t job,
                              std::int64_t warm_up) {
    Instant first_end = Instant::never();
    for (std::size_t other = 0; other < all.size(); ++other) {
        if (other != job) first_end = std::min(first_end, all[other].steps.back().end);
    }
    return std::ranges::count_if(
        std::span(all[job].steps).subspan(static_cast<std::size_t>(warm_up)),
        [&](const sim::StepRecord& step) { return step.end > first_end; });
}

SimulatedVariant variant_of(scenarios::StepScenario scenario, std::int64_t detailed_steps) {
    SimulatedVariant variant;
    std::vector<sim::StepJob> jobs;
    for (const scenarios::StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    sim::StepOptions options;
    options.seed = scenario.seed;
    options.network = scenario.network;
    options.detailed_steps = detailed_steps;
    try {
        variant.results = sim::run_steps(scenario.topology, jobs, scenario.cross_traffic, options,
                                         scenario.events);
    } catch (const InputError& error) {  // of a job that waits for ever
        throw InputError(scenario.file.string(), "", error.what());
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        variant.jobs.push_back(job_of(scenario, j, variant.results[j]));
        variant.jobs.back().with_fewer_jobs =
            steps_with_fewer(variant.results, j, scenario.warm_up);
    }
    variant.scenario = std::move(scenario);
    return variant;
}

std::vector<SimulatedJob> all_jobs(std::span<const SimulatedVariant> variants) {
    std::vector<SimulatedJob> jobs;
    for (const SimulatedVariant& variant : variants) {
        jobs.insert(jobs.end(), variant.jobs.begin(), variant.jobs.end());
    }
    return jobs;
}

json job_json(const SimulatedVariant& variant, std::size_t number) {
    const SimulatedJob& summary = variant.jobs[number];
    const sim::JobSteps& result = variant.results[number];
    const scenarios::StepJobEntry& entry = variant.scenario.jobs[number];
    json part_s;
    for (std::size_t i = 0; i < sim::step_parts.size(); ++i) {
        part_s[std::string(sim::step_parts[i].name)] = summary.part_s[i];
    }
    return {{"name", summary.name},
            {"model", entry.model},
            {"workers", summary.workers},
            {"learners", entry.job.learners},
            {"samples_per_step", summary.samples_per_step},
            {"layout", words_of(entry.request)},
            {"bytes_per_gpu",
             {{"total", entry.memory.need.total().raw()},
              {"parameters", entry.memory.need.parameters().raw()},
              {"weights", entry.memory.need.weights.raw()},
              {"gradients", entry.memory.need.gradients.raw()},
              {"optimiser_states", entry.memory.need.states.raw()},
              {"exchange", entry.memory.need.exchange.raw()},
              {"kept", entry.memory.need.kept.raw()},
              {"reserved", entry.memory.need.reserve.raw()},
              {"whole_model", entry.whole.total().raw()}}},
            {"gradient_bytes", entry.gradient.raw()},
            {"buckets", entry.buckets},
            {"collective", result.collective},
            {"collective_choice", entry.why},
            {"fidelity", sim::fidelity_of(result)},
            {"compute_source", entry.curve},
            {"step_s",
             {{"mean", summary.step_s.mean},
              {"min", summary.step_s.min},
              {"median", summary.step_s.median},
              {"max", summary.step_s.max}}},
            {"steps_counted", summary.counted},
            {"steps_with_fewer_jobs", summary.with_fewer_jobs},
            {"parts_s", part_s},
            {"codec", policies::codec_text(entry.codec.name, entry.codec.level)},
            {"coded_bytes", entry.coded.message.raw()},
            {"encode_s", to_seconds(entry.coded.encode)},
            {"decode_s", to_seconds(entry.coded.decode)},
            {"codec_kernels",
             entry.coded.kernels.encode.launches + entry.coded.kernels.decode.launches},
            {"variable_update", sim::variable_update_names[static_cast<std::size_t>(entry.update)]},
            {"servers", entry.job.servers.size()},
            {"staleness", {{"mean", summary.staleness.mean()}, {"max", summary.staleness.most}}},
            {"samples_per_s", summary.samples_per_s},
            {"samples_per_s_per_worker", summary.of_a_worker},
            {"efficiency", summary.efficiency}};
}

json variant_json(const SimulatedVariant& variant) {
    json jobs = json::array();
    for (std::size_t j = 0; j < variant.jobs.size(); ++j) jobs.push_back(job_json(variant, j));
    return {{"cluster", variant.scenario.cluster},
            {"warm_up", variant.scenario.warm_up},
            {"seed", variant.scenario.seed},
            {"jobs", jobs}};
}

}  // namespace

std::string words_of(const sim::LayoutRequest& request) {
    std::string text = fmt::format("tensor {} x pipeline {} x data {}", request.degrees.tensor,
                                   request.degrees.pipeline, request.degrees.data);
    if (request.context > 1) {
        text += fmt::format(" x context {}", request.context);
        if (request.context_exchange != sim::ContextExchange::ring) {
            text += fmt::format(
                " by {}",
                sim::context_exchange_names[static_cast<std::size_t>(request.context_exchange)]);
        }
    }
    if (request.degrees.pipeline > 1) {
        text += fmt::format(", {}",
                            sim::pipeline_kind_names[static_cast<std::size_t>(request.schedule)]);
        if (request.chunks > 1) text += fmt::format(" in {} chunks", request.chunks);
    }
    if (request.recompute && !request.recompute_by_stage.empty()) {
        text += fmt::format(", {} blocks of the stages computed again",
                            fmt::join(request.recompute_by_stage, ", "));
    } else if (request.recompute && request.recompute_blocks > 0) {
        text += fmt::format(", {} blocks a stage computed again", request.recompute_blocks);
    } else if (request.recompute) {
        text += ", blocks computed again";
    }
    if (request.recompute_scores) text += ", scores computed again";
    if (request.sequence_parallel) text += ", sequence parallel";
    if (request.overlap_tensor) text += ", tensor groups send beside products";
    if (request.shard != sim::Shard::none) {
        text +=
            fmt::format(", {} divided", sim::shard_names[static_cast<std::size_t>(request.shard)]);
        if (request.shard == sim::Shard::parameters) {
            text += fmt::format(", {} prefetched", request.prefetch);
        }
    }
    if (request.slowed_by_sending > 0) {
        text += fmt::format(", {} of what is sent taken from computing", request.slowed_by_sending);
    }
    if (request.expert > 1) text += fmt::format(", experts on {} ranks", request.expert);
    if (request.whole_experts) text += ", each whole";
    if (request.split_dense) text += ", fully connected layers split";
    if (request.synchronised_norm) text += ", batch normalisation synchronised";
    return text;
}

std::vector<SimulatedVariant> simulate_steps(std::vector<scenarios::StepScenario> scenarios,
                                             std::int64_t detailed_steps,
                                             const RunProgress& progress) {
    std::vector<SimulatedVariant> variants(scenarios.size());
    SeenProgress seen(scenarios.size(), progress);
    guarded_parallel_for(scenarios.size(), machine_threads(), [&](std::size_t i) {
        variants[i] = variant_of(std::move(scenarios[i]), detailed_steps);
        seen.one_more();
    });
    return variants;
}

std::string simulated_csv(std::span<const SimulatedVariant> variants) {
    const std::vector<SimulatedJob> jobs = all_jobs(variants);
    const records::VariedColumns varied{std::span(jobs)};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(), {"job", "model", "workers", "samples_per_step", "step_s_mean",
                                   "step_s_min", "step_s_median", "step_s_max"});
    for (const sim::StepPart& part : sim::step_parts)
        columns.push_back(fmt::format("{}_s_mean", part.name));
    columns.insert(columns.end(), {"samples_per_s", "samples_per_s_per_worker", "efficiency"});
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < variants.size(); ++i) {
        for (std::size_t j = 0; j < variants[i].jobs.size(); ++j) {
            const SimulatedJob& job = variants[i].jobs[j];
            varied.add_fields(csv, variants[i].scenario.varied);
            csv.add(job.name).add(variants[i].scenario.jobs[j].model).add(job.workers);
            csv.add(job.samples_per_step).add(job.step_s.mean).add(job.step_s.min);
            csv.add(job.step_s.median).add(job.step_s.max);
            for (const double part_s : job.part_s) csv.add(part_s);
            csv.add(job.samples_per_s).add(job.of_a_worker).add(job.efficiency).end_row();
        }
    }
    return csv.text();
}

std::string steps_csv(std::span<const SimulatedVariant> variants) {
    const std::vector<SimulatedJob> jobs = all_jobs(variants);
    const records::VariedColumns varied{std::span(jobs)};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(), {"job", "step", "begin_s", "step_s", "samples", "workers"});
    for (const sim::StepPart& part : sim::step_parts)
        columns.push_back(fmt::format("{}_s", part.name));
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < variants.size(); ++i) {
        for (std::size_t j = 0; j < variants[i].results.size(); ++j) {
            std::int64_t number = 0;
            for (const sim::StepRecord& step : variants[i].results[j].steps) {
                varied.add_fields(csv, variants[i].scenario.varied);
                csv.add(variants[i].jobs[j].name).add(number++);
                csv.add(to_seconds(step.begin.since_start()))
                    .add(to_seconds(step.end - step.begin));
                csv.add(step.samples).add(step.workers);
                for (const sim::StepPart& part : sim::step_parts)
                    csv.add(to_seconds(step.parts.*part.value));
                csv.end_row();
            }
        }
    }
    return csv.text();
}

std::string simulated_json(std::span<const SimulatedVariant> variants, const std::string& layouts) {
    const scenarios::StepScenario& first = variants.front().scenario;
    json document = {{"scenario", first.name}};
    if (!layouts.empty()) document["layouts"] = json::parse(layouts);
    if (first.varied.empty()) {
        document.update(variant_json(variants.front()));
        return document.dump(2) + "\n";
    }
    document["variants"] = json::array();
    for (const SimulatedVariant& variant : variants) {
        json one = variant_json(variant);
        for (const records::VariedValue& value : variant.scenario.varied) {
            const json as_json = json::parse(value.value, nullptr, false);
            one["vary"][value.pointer] = as_json.is_discarded() ? json(value.value) : as_json;
        }
        document["variants"].push_back(std::move(one));
    }
    return document.dump(2) + "\n";
}

std::vector<scenarios::StepScenario> step_variants(StepDocument& document,
                                                   std::span<const ConfigOverride> overrides,
                                                   std::span<const std::string> keys) {
    vary(document, keys, overrides);
    std::vector<scenarios::StepScenario> all;
    scenarios::for_each_variant(overrides, document.varied, [&](auto set, auto varied) {
        all.push_back(scenarios::step_scenario_from_text(document.text, document.file, set));
        all.back().varied.assign(varied.begin(), varied.end());
    });
    return all;
}

plots::FigureResult write_simulated(OutputFolder& folder, const StepDocument& document,
                                    std::span<const SimulatedVariant> variants,
                                    const plots::FigureOptions& options) {
    const ScenarioFiles files{.command = "simulate",
                              .resolved = variants.front().scenario.resolved,
                              .document = document,
                              .files = {{"simulate.csv", simulated_csv(variants)},
                                        {"steps.csv", steps_csv(variants)},
                                        {"simulate.json", simulated_json(variants)}},
                              .figures = read_simulated};
    return write_scenario_folder(folder, files, options);
}

bool is_simulated(const fs::path& folder) { return fs::exists(folder / "simulate.json"); }

plots::FigureInput read_simulated(const fs::path& folder) {
    std::vector<SimulatedJob> jobs;
    try {
        const json document = json::parse(read_file(folder / "simulate.json"));
        const json variants =
            document.contains("variants") ? document.at("variants") : json::array({document});
        for (const json& variant : variants) {
            std::vector<records::VariedValue> varied;
            const json given = variant.value("vary", json::object());
            for (const auto& [pointer, value] : given.items()) {
                varied.push_back(
                    {pointer, value.is_string() ? value.get<std::string>() : value.dump()});
            }
            for (const json& one : variant.at("jobs")) {
                SimulatedJob& job = jobs.emplace_back();
                job.varied = varied;
                job.name = one.at("name").get<std::string>();
                job.workers = one.at("workers").get<std::int64_t>();
                job.step_s.mean = one.at("step_s").at("mean").get<double>();
                for (std::size_t i = 0; i < sim::step_parts.size(); ++i) {
                    job.part_s[i] =
                        one.at("parts_s").at(std::string(sim::step_parts[i].name)).get<double>();
                }
                job.samples_per_s = one.at("samples_per_s").get<double>();
                job.efficiency = one.at("efficiency").get<double>();
            }
        }
    } catch (const json::exception& error) {
        throw InputError(folder.string(), "", fmt::format("damaged: {}", error.what()));
    }
    return simulated_figures(jobs);
}

}  // namespace ukemi::analysis
