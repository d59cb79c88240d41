// drawn_figures.hpp — the figures of a part of a report, as SVG.
#pragma once

#include <filesystem>

#include "analysis/report/report_part.hpp"
#include "plots/figures.hpp"

namespace ukemi::analysis {

// Drawn now, in a folder that is gone afterwards, as wide as a column of a page: on a telephone the
// letters are still to be read.
void draw_figures(ReportPart& part, const plots::FigureInput& input);

// Those that lie in a folder already.
void add_drawn_figures(ReportPart& part, const std::filesystem::path& folder);

}  // namespace ukemi::analysis
