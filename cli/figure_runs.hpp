// figure_runs.hpp — the figures of sources that come with ukemi, and the commands that their
// values are asked of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/reproduction/reproduced_figure.hpp"

namespace ukemi::cli {

// Of files that describe a figure.
inline constexpr std::string_view figure_ending = ".jsonc";

// Of the folder `published` among the shipped scenarios, by name. InputError if there is no such
// folder.
std::vector<analysis::FigureDescription> described_figures();

// The first pattern of recordings that no file fits, as of a program that was installed without.
std::optional<std::string> absent_recordings(const analysis::FigureDescription& figure);

// Runs what the command runs, in this process, and gives its rows: of `simulate` a row a job and
// variant, of `compare` a row a candidate, of `replay` a row a run.
std::vector<analysis::FigureRow> rows_of_run(const analysis::DescribedRun& run);

}  // namespace ukemi::cli
