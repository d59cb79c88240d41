// stacked_bars.hpp — bars of parts, one below the other, with what they add up to at their ends.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plots/gnuplot.hpp"
#include "plots/legend.hpp"

namespace ukemi::plots {

struct BarPart {
    std::string_view title;
    BarFill fill;
    std::size_t column = 0;  // of the table; all parts of a bar stand in neighbouring columns
};

std::vector<LegendEntry> bar_entries(std::span<const BarPart> parts);

// What stands at the end of each row's bar.
struct BarEnd {
    double value = 0;
    std::string text;
};
// Up to where the axis goes, so that all texts have room in a panel of so many pixels.
double bars_end(std::span<const BarEnd> ends, double pixels);

// Commands: the texts at the ends, the range and tics of the axis, and the plot, of a table whose
// first column is the row. Values are multiplied by `factor`.
std::string stacked_bars(const std::string& file, std::span<const BarPart> parts,
                         std::span<const BarEnd> ends, double pixels, double factor = 1);

}  // namespace ukemi::plots
