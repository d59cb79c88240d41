// varied_lines.hpp — what a varied number does: a line a policy, a panel for each quantity.
//
// A point is the mean over a policy's runs, its bar the 95 % interval where there is one. Values of
// a second variation have a column of panels each, on the same axes. Where some of a point's runs
// missed their deadline or did not finish, it is crossed: cheap, but not what was asked for.
#pragma once

#include <span>
#include <string>

#include "plots/figures.hpp"

namespace ukemi::plots {

// At most 12 figures of 12 lines and 12 columns; of the rest a note says that there is no room.
FigureResult draw_varied_lines(const std::string& figure,
                               std::span<const VariationInput> variations,
                               const std::filesystem::path& folder, const FigureOptions& options);

}  // namespace ukemi::plots
