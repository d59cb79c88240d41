// scenario_folder.hpp — the results folder of a command that runs a scenario and its variants
// without a market: `simulate`, `schedule` and `search`.
//
// RESULTS/: run.json (how to repeat it: `ukemi COMMAND RESULTS/run.json`), the command's files, and
// figures/ drawn from them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/step_document.hpp"
#include "base/text_pieces.hpp"
#include "plots/figures.hpp"

namespace ukemi::analysis {

using FileText = std::variant<std::string, TextPieces>;
using MoreFiles = std::vector<std::pair<std::string, FileText>>;  // names and texts

struct ScenarioFiles {
    std::string_view command;
    std::string resolved;          // the first variant's scenario, JSON
    const StepDocument& document;  // that it is of: what somebody asked for beside the scenario
    // Names and texts. The first two, tables, are what the run's hash is of.
    MoreFiles files;
    // Of a folder that holds them.
    std::function<plots::FigureInput(const std::filesystem::path&)> figures;
};

plots::FigureResult write_scenario_folder(OutputFolder& folder, const ScenarioFiles& what,
                                          const plots::FigureOptions& options);

}  // namespace ukemi::analysis
