// results.hpp — the folder that a replay leaves behind, and its figures.
//
// results/<scenario>-<hash>/: run.json (how to repeat it: resolved scenario, traces, policies,
// seeds, versions), summary.csv and runs.json (one row or object a run), policies.csv (the table),
// pairs.csv (where there is a baseline), runs/<which>/
// (timeline.csv, decisions.jsonl, events.jsonl of the detailed runs), figures/, and manifest.json
// here and there (what may be replaced). It is written as an OutputFolder: all of it or nothing.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/run_inputs.hpp"
#include "plots/figures.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::analysis {

// Writes everything and draws the figures. Returns the figures and what could not be drawn.
plots::FigureResult write_results(OutputFolder& folder, const ReplayInputs& inputs,
                                  std::span<const scenarios::FinishedRun> runs,
                                  const plots::FigureOptions& options);

// The name of a run's own folder in runs/, or in runs/<variant>/ where the scenario was varied.
// (Runs whose names are equal once they are safe for a file system have dashes added.)
std::string run_folder(std::string_view policy, std::string_view trace, std::uint64_t seed,
                       Duration start = {});

// A name that is safe as a file's: anything unusual becomes '-'.
std::string file_name_of(std::string_view text);

// Gives every label a folder's name of its own.
class FolderNames {
public:
    const std::string& of(const std::string& label);

private:
    std::map<std::string, std::string> names_;  // by label
    std::set<std::string> used_;
};

// The runs with what the table says of them: {"runs": […], "policies": […], "pairs": […]}, the
// last where there is a baseline.
std::string results_json(std::span<const records::RunResult> runs, std::string_view baseline,
                         std::span<const std::string> warnings = {});

// What is drawn of runs as runs.json has them, which differ in the values of the keys at these
// pointers; with a baseline (its label), also the differences from it.
plots::FigureInput figures_of_runs(const nlohmann::json& runs,
                                   const std::vector<std::string>& pointers,
                                   const std::string& baseline);

// What `ukemi plot` draws: read back from a results folder.
plots::FigureInput read_results(const std::filesystem::path& folder);

// Draws what a results folder holds. Figures whose rows are policies are drawn for each of the
// first variants by itself, in a folder of its name.
plots::FigureResult draw_results(const plots::FigureInput& input,
                                 const std::filesystem::path& folder,
                                 const plots::FigureOptions& options);

}  // namespace ukemi::analysis
