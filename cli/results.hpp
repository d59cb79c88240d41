// results.hpp — the folder that a replay leaves behind, and its figures.
//
// results/<scenario>-<hash>/: run.json (how to repeat it: resolved scenario, traces, policies,
// seeds, versions), summary.csv and runs.json (one row or object a run), runs/<which>/
// (timeline.csv, decisions.jsonl, events.jsonl of the detailed runs) and figures/. The folder is
// made under another name and renamed when it is complete: whoever sees it sees all of it. Nothing
// is overwritten without --force.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plots/figures.hpp"
#include "scenarios/experiment.hpp"

namespace ukemi {

// What the results are a function of, besides the build.
struct ReplayInputs {
    const Scenario* scenario = nullptr;
    std::vector<std::filesystem::path> traces;
    std::vector<std::string> policies;  // labels
    std::vector<std::uint64_t> seeds;
    std::string live;  // of a live run: a JSON object that says how it was run
};

std::filesystem::path default_results_folder(const ReplayInputs& inputs);

// InputError if the folder is there and `force` is false, or is no results folder at all.
void check_results_folder(const std::filesystem::path& folder, bool force);

// Writes everything and draws the figures. Returns the figures and what could not be drawn.
FigureResult write_results(const std::filesystem::path& folder, const ReplayInputs& inputs,
                           std::span<const FinishedRun> runs, bool pdf);

// The name of a run's own folder in runs/. (Runs whose names are equal once they are safe for a
// file system have dashes added.)
std::string run_folder(std::string_view policy, std::string_view trace, std::uint64_t seed);

// What `ukemi plot` draws: read back from a results folder.
FigureInput read_results(const std::filesystem::path& folder);

}  // namespace ukemi
