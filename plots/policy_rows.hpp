// policy_rows.hpp — runs grouped by policy, one row of a figure each.
//
// Rows are sorted by mean cost, the cheapest on top; equal means by name. A run that cannot be
// drawn (a number that is negative or not finite) makes `problem`, and no rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plots/figures.hpp"
#include "plots/gnuplot.hpp"

namespace ukemi::plots {

struct PolicyRow {
    std::string policy;
    std::vector<const RunPoint*> runs;  // in the order given; they point into the caller's runs
    double mean_cost_usd = 0;
};

struct PolicyRows {
    std::vector<PolicyRow> rows;
    std::string problem;
};
PolicyRows group_by_policy(std::span<const RunPoint> runs);

// A share in per cent, rounded, but never to all or none where it is neither.
std::string percent(double share);

// The part that figures with one row a policy share: the names, and room for the longest of them.
struct RowLayout {
    int width = 0;
    double left = 0;       // pixels, for the names
    double high = 0;       // pixels of a panel
    std::string settings;  // run once: the names, the y range; row 0 is on top
    std::string names;     // run for each panel that has them: the names as labels
};
RowLayout row_layout(const PolicyRows& rows, const FigureStyle& style, int usual_width);

}  // namespace ukemi::plots
