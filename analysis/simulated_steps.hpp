// simulated_steps.hpp — what `ukemi simulate` leaves behind: means of each job's steps in each
// variant, as tables, as JSON, and as figures.
//
// RESULTS/: run.json (how to repeat it: `ukemi simulate RESULTS/run.json`), simulate.csv (a row a
// job and variant), steps.csv (a row a step), simulate.json and figures/.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/run_progress.hpp"
#include "analysis/step_document.hpp"
#include "base/statistics.hpp"
#include "plots/figures.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/step/step_record.hpp"

namespace ukemi::analysis {

// Means over the steps after the warm-up.
struct SimulatedJob {
    std::vector<records::VariedValue> varied;
    std::string name;
    std::int64_t workers = 0;
    std::int64_t samples_per_step = 0;
    Summary step_s;
    std::int64_t counted = 0;          // steps that it is of
    std::int64_t with_fewer_jobs = 0;  // of these: they end after another job's last one
    std::array<double, sim::step_parts.size()> part_s{};
    double samples_per_s = 0;
    double of_a_worker = 0;  // of those, by the workers that were there
    double efficiency = 0;   // of as many workers that never wait
    sim::Staleness staleness = {};
};

// One variant: what was asked for, and what came out.
struct SimulatedVariant {
    scenarios::StepScenario scenario;
    std::vector<sim::JobSteps> results;
    std::vector<SimulatedJob> jobs;
};

// Runs each scenario's steps, several at a time.
std::vector<SimulatedVariant> simulate_steps(std::vector<scenarios::StepScenario> scenarios,
                                             std::int64_t detailed_steps,
                                             const RunProgress& progress = {});

// In words, as tables have it: "tensor 2 x pipeline 4 x data 2, …".
std::string words_of(const sim::LayoutRequest& request);

// A column for each varied key: its number, with its unit in the name, or what was given.
std::string simulated_csv(std::span<const SimulatedVariant> variants);
std::string steps_csv(std::span<const SimulatedVariant> variants);
// `layouts`: what a search for them says (layout_search.hpp), JSON; empty: there was none.
std::string simulated_json(std::span<const SimulatedVariant> variants,
                           const std::string& layouts = {});

// The variants of a document, changed by the overrides. Keys that are given
// ("/json/pointer=VALUE,VALUE…") are varied in place of the document's, which then says so.
std::vector<scenarios::StepScenario> step_variants(StepDocument& document,
                                                   std::span<const ConfigOverride> overrides,
                                                   std::span<const std::string> keys);

plots::FigureResult write_simulated(OutputFolder& folder, const StepDocument& document,
                                    std::span<const SimulatedVariant> variants,
                                    const plots::FigureOptions& options);

// Whether a results folder is of simulated steps; what `ukemi plot` draws of it.
bool is_simulated(const std::filesystem::path& folder);
plots::FigureInput read_simulated(const std::filesystem::path& folder);

}  // namespace ukemi::analysis
