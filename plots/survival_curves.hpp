// survival_curves.hpp — how long something lasted: the share that lasted longer, over time.
//
// Recorded curves are solid, generated ones dashed; each has a colour and a dash of its own. With a
// logarithmic axis the first hour, in which most is lost, has as much room as the first day.
#pragma once

#include <span>
#include <string>

#include "plots/figures.hpp"

namespace ukemi::plots {

// A figure each.
FigureResult draw_survival_curves(const std::string& figure,
                                  std::span<const SurvivalInput> survivals,
                                  const std::filesystem::path& folder,
                                  const FigureOptions& options);

}  // namespace ukemi::plots
