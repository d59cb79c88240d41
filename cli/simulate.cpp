// simulate.cpp — `ukemi simulate`: where the time of a training step goes on a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/layout_search.hpp"
#include "analysis/output_folder.hpp"
#include "analysis/simulated_steps.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_options.hpp"
#include "policies/codec_text.hpp"
#include "scenarios/reader/read_collective.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/step/perfetto_trace.hpp"

namespace ukemi::cli {

namespace {

struct SimulateOptions {
    std::string scenario;
    analysis::VariationRequest variation;
    OutputOptions output;
    std::string perfetto;
    std::int64_t traced_steps = 2;
    std::vector<std::string> search;
    std::size_t runners_up = 4;
};

double gigabytes(Bytes bytes) { return static_cast<double>(bytes.raw()) / 1e9; }

void print_fidelity(const sim::JobSteps& result) {
    const std::int64_t all = result.exact + result.fluid + result.nccl;
    if (all == 0) return;
    fmt::print("  network: {}", sim::fidelity_of(result));
    if (result.exact > 0 && result.fluid > 0) {
        fmt::print(", {} of {} collectives fluid", result.fluid, all);
    }
    if (result.fluid > 0) fmt::print(" (20 % and more off where links are shared)");
    if (result.nccl > 0 && result.nccl < all) {
        fmt::print(", {} of {} as long as NCCL's", result.nccl, all);
    }
    fmt::print("\n");
}

// What `step_time.codecs` of a replay's scenario has keys for, with their names.
void print_codec(const scenarios::StepJobEntry& entry) {
    const sim::CodedBytes& coded = entry.coded;
    const double message_mb = static_cast<double>(coded.message.raw()) / 1e6;
    const double encode_ms = to_seconds(coded.encode) * 1e3;
    const double decode_ms = to_seconds(coded.decode) * 1e3;
    fmt::print(
        "  {}: {:.4g} MB a worker instead of {:.4g}, {}; {:.3g} ms to encode, {:.3g} to decode\n",
        entry.codec.name, message_mb, static_cast<double>(coded.gradient.raw()) / 1e6,
        coded.reduces ? "all-reduced" : "all-gathered", encode_ms, decode_ms);
    if (entry.codec.encode_rate == 0) {
        sim::KernelSum both = coded.kernels.encode;
        both += coded.kernels.decode;
        fmt::print("  {} kernels, {:.3g} ms on {}; {}\n", both.launches, both.device_s * 1e3,
                   entry.codec.gpu->name,
                   sim::CodecClock::host_bound(both) ? "launching them takes longer"
                                                     : "launching them takes less");
    }
    fmt::print(
        "  for step_time.codecs: {{\"codec\": \"{}\", \"bytes\": \"{:.4g} MB\", \"encoding\": "
        "\"{:.3g} ms\"}}\n",
        policies::codec_text(entry.codec.name, entry.codec.level), message_mb,
        encode_ms + decode_ms);
}

void print_parts(const analysis::SimulatedJob& summary) {
    for (std::size_t i = 0; i < sim::step_parts.size(); ++i) {
        if (sim::step_parts[i].of_some && summary.part_s[i] == 0) continue;
        fmt::print("  {:<26}{:>11.3f} ms{:>8.1f} %\n", sim::step_parts[i].words,
                   summary.part_s[i] * 1e3, 100 * summary.part_s[i] / summary.step_s.mean);
    }
    fmt::print("  {:<26}{:>11.3f} ms   from {:.3f} to {:.3f}\n", "step", summary.step_s.mean * 1e3,
               summary.step_s.min * 1e3, summary.step_s.max * 1e3);
    if (summary.with_fewer_jobs == 0) return;
    fmt::print("  {:<26}{:>11} of these {} steps: another job had done all of its \"steps\"\n",
               "with fewer jobs", summary.with_fewer_jobs, summary.counted);
}

void print_workload(const scenarios::StepJobEntry& entry, const sim::JobSteps& result,
                    const analysis::SimulatedJob& summary) {
    const std::size_t workers = entry.job.workers.size();
    fmt::print("\njob {}: {} on {} worker{}\n  {}\n", entry.job.name, one_line(entry.model),
               workers, workers == 1 ? "" : "s", entry.curve);
    const std::string sums =
        entry.job.nccl ? "nccl"
        : entry.job.axes.empty()
            ? std::string(
                  policies::collective_names()[static_cast<std::size_t>(entry.job.collective)])
            : kernels::words_of(entry.job.axes);
    fmt::print("  all-reduces: {}{}\n", sums, scenarios::why_collective(entry));
    if (!entry.why.empty()) fmt::print("  {}\n", entry.why);
    print_fidelity(result);
    print_parts(summary);
}

// What gradients through the hosts wait for besides, if any can travel with others.
std::string fusion_text(const scenarios::StepJobEntry& entry) {
    const sim::StepJob& job = entry.job;
    const bool together = job.launch.kind == sim::LaunchKind::coordinated ||
                          std::ranges::any_of(job.buckets, [](const sim::GradientBucket& bucket) {
                              return bucket.tensors > 1;
                          });
    if (!together || job.launch.buffer_s_per_byte == 0) return {};
    return fmt::format(
        ", at most {:.3g} more where tensors travel together",
        1e3 * job.launch.buffer_s_per_byte * static_cast<double>(entry.gradient.raw()));
}

void print_job(const scenarios::StepJobEntry& entry, const sim::JobSteps& result,
               const analysis::SimulatedJob& summary) {
    const sim::StepJob& job = entry.job;
    if (job.workload) return print_workload(entry, result, summary);
    fmt::print("\njob {}: {} on {} worker{} ({}), batch {} x {} = {}\n", job.name, entry.model,
               job.workers.size(), job.workers.size() == 1 ? "" : "s", entry.gpus, job.batch,
               job.replicas() * job.accumulation * job.learners, job.samples_per_step());
    if (job.layout) fmt::print("  {}\n", analysis::words_of(entry.request));
    const sim::MemoryNeed& need = entry.memory.need;
    fmt::print(
        "  {:.4g} GB a GPU: {:.4g} weights, {:.4g} gradients, {:.4g} optimiser, {}{:.4g} kept{}, "
        "{:.4g} reserved",
        gigabytes(need.total()), gigabytes(need.weights), gigabytes(need.gradients),
        gigabytes(need.states),
        need.exchange > Bytes{} ? fmt::format("{:.4g} exchange, ", gigabytes(need.exchange)) : "",
        gigabytes(need.kept), need.kept > Bytes{} ? "" : " (unknown: no \"values_kept\")",
        gigabytes(need.reserve));
    if (job.layout) fmt::print(" (the whole model: {:.4g})", gigabytes(entry.whole.total()));
    fmt::print("\n  compute time: {}\n", entry.curve);
    if (job.pair_model > Bytes{}) {
        fmt::print("  {}: {:.4g} MB{}\n", result.collective,
                   static_cast<double>(job.pair_model.raw()) / 1e6,
                   job.hosts ? fmt::format(", over a connection of {:.3g} GB/s",
                                           job.hosts->connection / 1e9)
                             : "");
    } else if (!result.collective.empty()) {
        fmt::print("  {:.4g} MB of gradients{} in {} bucket{}, {}, {}{}\n",
                   static_cast<double>(entry.gradient.raw()) / 1e6, job.layout ? " a GPU" : "",
                   entry.buckets, entry.buckets == 1 ? "" : "s",
                   sim::launch_kind_names[static_cast<std::size_t>(job.launch.kind)],
                   result.collective, scenarios::why_collective(entry));
        if (!entry.why.empty()) fmt::print("  {}\n", entry.why);
    } else if (job.nccl && !entry.why.empty()) {
        fmt::print("  no gradients are sent; the model's exchanges: nccl{}\n  {}\n",
                   scenarios::why_collective(entry), entry.why);
    }
    print_fidelity(result);
    if (job.hosts && job.pair_model == Bytes{}) {
        fmt::print(
            "  through the hosts: {:.3g} GB/s a connection, {:.3g} in a machine, {:.3g} ms of "
            "copies{}\n",
            job.hosts->rate(false) / 1e9, job.hosts->rate(true) / 1e9,
            1e3 * job.launch.copy_s_per_byte * static_cast<double>(entry.gradient.raw()),
            fusion_text(entry));
    }
    if (entry.coded.message > Bytes{}) print_codec(entry);
    if (!job.servers.empty()) {
        fmt::print("  {}: at most {:.4g} MB on one of {} servers\n",
                   sim::variable_update_names[static_cast<std::size_t>(entry.update)],
                   static_cast<double>(entry.most_on_a_server.raw()) / 1e6, job.servers.size());
    }
    if (summary.staleness.updates > 0) {
        fmt::print("  staleness {:.2f} updates in the mean, {} at most\n", summary.staleness.mean(),
                   summary.staleness.most);
    }
    print_parts(summary);
    fmt::print("  {:<26}{:>11.1f} samples/s, {:.1f} a worker, efficiency {:.3f}\n", "throughput",
               summary.samples_per_s, summary.of_a_worker, summary.efficiency);
}

// A line a job and variant: the whole of each is in simulate.json.
void print_variants(std::span<const analysis::SimulatedVariant> variants) {
    std::size_t wide = 3;
    for (const analysis::SimulatedVariant& variant : variants) {
        for (const analysis::SimulatedJob& job : variant.jobs) {
            wide = std::max(wide, job.name.size());
        }
    }
    fmt::print("{:<{}} {:>8} {:>12} {:>12} {:>11}  {}\n", "job", wide, "workers", "step (ms)",
               "samples/s", "efficiency", "variant");
    for (const analysis::SimulatedVariant& variant : variants) {
        for (const analysis::SimulatedJob& job : variant.jobs) {
            fmt::print("{:<{}} {:>8} {:>12.3f} {:>12.1f} {:>11.3f}  {}\n", job.name, wide,
                       job.workers, job.step_s.mean * 1e3, job.samples_per_s, job.efficiency,
                       one_line(scenarios::variant_label(job.varied)));
        }
    }
}

// Which steps no mean counts.
std::string counted_steps(std::int64_t warm_up) {
    if (warm_up == 0) return "means of all steps";
    if (warm_up == 1) return "means without the first step";
    return fmt::format("means without the first {} steps", warm_up);
}

std::string cluster_text(const scenarios::StepScenario& scenario) {
    const std::size_t workers = scenario.topology.workers().size();
    return fmt::format("{}, {} worker{}", scenario.cluster, workers, workers == 1 ? "" : "s");
}

// What all variants have, or how many of them there are.
std::string heading(std::span<const analysis::SimulatedVariant> variants) {
    const auto all_have = [&](const auto& what) {
        return std::ranges::all_of(variants, [&](const analysis::SimulatedVariant& variant) {
            return what(variant.scenario) == what(variants.front().scenario);
        });
    };
    const auto warm_up = [](const scenarios::StepScenario& scenario) { return scenario.warm_up; };
    const scenarios::StepScenario& first = variants.front().scenario;
    return fmt::format(
        "{}: {}; {}", first.name,
        all_have(cluster_text) ? cluster_text(first) : fmt::format("{} clusters", variants.size()),
        all_have(warm_up) ? counted_steps(first.warm_up) : "means without each one's first steps");
}

void print_tables(std::span<const analysis::SimulatedVariant> variants) {
    const scenarios::StepScenario& first = variants.front().scenario;
    fmt::print("{}\n", heading(variants));
    for (const std::string& fitted : first.fitted) fmt::print("{}\n", one_line(fitted));
    if (!first.varied.empty()) return print_variants(variants);
    for (std::size_t j = 0; j < first.jobs.size(); ++j) {
        print_job(first.jobs[j], variants.front().results[j], variants.front().jobs[j]);
    }
}

// The fastest layout becomes the scenario's.
std::optional<analysis::LayoutSearch> search(const SimulateOptions& options,
                                             const analysis::StepDocument& document,
                                             std::vector<ConfigOverride>& overrides) {
    if (options.search.empty()) return std::nullopt;
    if (!options.variation.varied.empty() || !document.varied.empty()) {
        throw InputError("--search", "", "is for one scenario: leave out --vary");
    }
    const auto asked = [&](std::string_view word) {
        return std::ranges::find(options.search, word) != options.search.end();
    };
    if (!asked("layouts")) {
        throw InputError("--search", "",
                         "expected \"layouts\", and beside it what else may change");
    }
    const std::size_t kept = options.runners_up + 1;
    ProgressLine line("layouts");
    analysis::LayoutSearch found = analysis::search_layouts(
        document, overrides, kept, [&](std::size_t done, std::size_t total) { line(done, total); },
        {asked("context"), asked("shard"), asked("expert"), asked("recompute")});
    line.clear();
    for (ConfigOverride& one : analysis::layout_overrides(found.layouts.front())) {
        overrides.push_back(std::move(one));
    }
    if (!options.output.json) fmt::print("{}\n", analysis::layouts_table(found, kept));
    return found;
}

void simulate(const SimulateOptions& options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    analysis::StepDocument document = analysis::read_step_document(options.scenario);
    expect_folder(output, !options.perfetto.empty());
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.variation.settings) {
        overrides.push_back(parse_override(setting));
    }
    const auto found = search(options, document, overrides);
    std::vector<scenarios::StepScenario> scenarios =
        analysis::step_variants(document, overrides, options.variation.varied);
    if (scenarios.size() > 1 && !options.perfetto.empty()) {
        throw InputError(
            "--perfetto", "",
            fmt::format("shows one run: {} variants were asked for", scenarios.size()));
    }
    std::optional<analysis::OutputFolder> folder;
    std::optional<analysis::OutputFile> perfetto;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    CsvFile csv(output);
    if (!options.perfetto.empty()) perfetto.emplace(options.perfetto, output.force);
    const std::vector<analysis::SimulatedVariant> variants = analysis::simulate_steps(
        std::move(scenarios), options.perfetto.empty() ? 0 : options.traced_steps);
    if (perfetto) {
        const analysis::SimulatedVariant& only = variants.front();
        std::vector<sim::StepJob> jobs;
        for (const scenarios::StepJobEntry& entry : only.scenario.jobs) jobs.push_back(entry.job);
        perfetto->write(sim::perfetto_trace(only.scenario.topology, jobs, only.results));
    }
    plots::FigureResult figures;
    const std::string layouts = found ? analysis::layouts_json(*found) : "";
    if (folder && found) folder->write("layouts.json", layouts);
    if (folder) figures = analysis::write_simulated(*folder, document, variants, draw);
    if (output.json) {
        fmt::print("{}", analysis::simulated_json(variants, layouts));
    } else {
        print_tables(variants);
    }
    if (csv.is_wanted()) csv.write(analysis::steps_csv(variants));
    if (perfetto) say_written(output, fmt::format("trace: {}", one_line(options.perfetto)));
    if (folder) say_results(output, folder->path(), figures);
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_simulate(CLI::App& app) {
    auto options = std::make_shared<SimulateOptions>();
    CLI::App* command =
        app.add_subcommand("simulate", "where the time of a training step goes on a cluster");
    command
        ->add_option("SCENARIO", options->scenario,
                     "a scenario with sections cluster and job, or a folder of results (or its "
                     "run.json): runs them again")
        ->required();
    add_variation_options(*command, options->variation);
    command->add_option("--perfetto", options->perfetto,
                        "write a trace of the first steps to this file (ui.perfetto.dev)");
    command->add_option("--traced-steps", options->traced_steps, "how many steps of each job")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    CLI::Option* const search = command->add_option(
        "--search", options->search,
        "layouts: which layout is the fastest that fits; its step is then shown. "
        "layouts,context,shard,expert,recompute: of all context degrees, of all that "
        "replicas can divide, of experts on every number of ranks, and of every "
        "number of a stage's blocks that are computed again, too");
    search->delimiter(',')->check(
        CLI::IsMember({"layouts", "context", "shard", "expert", "recompute"}));
    command->add_option("--runners-up", options->runners_up, "how many more layouts are shown")
        ->needs(search)
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
    add_output_options(*command, options->output,
                       {"print JSON instead of tables", "write a row a step to this file",
                        "folder for results: simulate.csv, steps.csv, run.json, figures"});
    command->callback([options] { simulate(*options); });
}

}  // namespace ukemi::cli
