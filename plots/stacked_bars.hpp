// stacked_bars.hpp — figures of bars of parts, a row each, with what they add up to at their ends.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plots/gnuplot.hpp"
#include "plots/policy_rows.hpp"

namespace ukemi::plots {

struct BarPart {
    std::string_view title;
    BarFill fill;
    std::size_t column = 0;  // of the table
};

// Of the ledger's causes, wherever they are bars.
inline constexpr std::array<BarFill, cost_causes.size()> cause_fills = {{
    {colour::blue, "solid 1.0"},
    {colour::vermillion, "pattern 4"},
    {colour::orange, "solid 1.0"},
    {colour::green, "pattern 5"},
    {colour::light_grey, "solid 1.0"},
    {colour::black, "pattern 1"},
}};

// What stands at the end of each row's bar.
struct BarEnd {
    double value = 0;
    std::string text;
};

struct BarPanel {
    std::string axis;  // its name
    std::vector<BarPart> parts;
    std::vector<BarEnd> ends;  // of each row
    double factor = 1;         // from the table's values to those of the axis and the ends
    // The same sum in other parts: a thinner bar below each. Usually empty. What is in both has one
    // title and is named once.
    std::vector<BarPart> other_parts = {};
};

// Rows of bars in panels that share their names and keys, from one table whose first column is the
// number of the row.
FigureSource bars_figure(const std::string& name, std::string table, const RowLayout& layout,
                         std::span<const BarPanel> panels, const FigureStyle& style);

}  // namespace ukemi::plots
