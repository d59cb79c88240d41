// run_lines.hpp — several runs over time as lines of one panel, told apart by colour and dash.
#pragma once

#include <string>
#include <vector>

#include "plots/gnuplot.hpp"

namespace ukemi::plots {

struct RunLine {
    std::string name;
    PlotPoints points;
    PlotBand band = {};  // at the same places, or empty
};

struct RunLinesStyle {
    std::string figure;  // name of the files
    std::string value;   // of the axis, and of the CSV's column
    std::string column;
    std::string axis = "time (h)";
    std::string axis_column = "t_h";
    bool steps = false;      // a value holds until the next; else they are joined
    bool log_scale = false;  // of the values, all above zero
    double low = 0;          // of the axis, unless logarithmic
};

// At most 12 lines; of the rest a note says that there is no room.
FigureResult draw_run_lines(const std::vector<RunLine>& lines, const RunLinesStyle& style,
                            const std::filesystem::path& folder, const FigureOptions& options);

}  // namespace ukemi::plots
