#include "plots/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ukemi::plots {

void Panels::make_room(const Legend& legend) {
    right += legend.right();
    legend_above = legend.above();
    legend_below = legend.below();
}

double Panels::beside_of(std::size_t panel) const {
    return panel < beside.size() ? beside[panel] : 0;
}

double Panels::wide_side_by_side() const {
    const auto panels = static_cast<double>(count);
    const double taken =
        std::accumulate(beside.begin(), beside.end(), left + right + gap * (panels - 1));
    return (width - taken) / panels;
}

bool Panels::stacked() const { return wide_side_by_side() < wide_min; }

double Panels::wide() const {
    if (!stacked()) return wide_side_by_side();
    const double most = beside.empty() ? 0 : std::ranges::max(beside);
    return width - left - right - most;  // the same of all
}

int Panels::height() const {
    const double rows = stacked() ? static_cast<double>(count) : 1;
    return static_cast<int>(
        std::lround(above + legend_above + rows * (high + below) + (rows - 1) * 18 + legend_below));
}

std::string Panels::margins(std::size_t panel) const {
    double x = left;
    double y = above + legend_above;
    for (std::size_t before = 0; before < panel; ++before) {
        stacked() ? y += high + below + 18 : x += wide() + beside_of(before) + gap;
    }
    const double all = height();
    return fmt::format(
        "    set lmargin at screen {:.6g}\n    set rmargin at screen {:.6g}\n"
        "    set tmargin at screen {:.6g}\n    set bmargin at screen {:.6g}\n",
        x / width, (x + wide()) / width, 1 - y / all, 1 - (y + high) / all);
}

}  // namespace ukemi::plots
