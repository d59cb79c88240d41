#include "plots/panels.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ukemi::plots {

void Panels::make_room(const Legend& legend) {
    right += legend.right();
    legend_above = legend.above();
    legend_below = legend.below();
}

bool Panels::stacked() const {
    const auto panels = static_cast<double>(count);
    return width - left - right < panels * wide_min + (panels - 1) * gap;
}

double Panels::wide() const {
    const double inner = width - left - right;
    if (stacked()) return inner;
    return (inner - gap * static_cast<double>(count - 1)) / static_cast<double>(count);
}

int Panels::height() const {
    const double rows = stacked() ? static_cast<double>(count) : 1;
    return static_cast<int>(
        std::lround(above + legend_above + rows * (high + below) + (rows - 1) * 18 + legend_below));
}

std::string Panels::margins(std::size_t panel) const {
    const auto number = static_cast<double>(panel);
    const double x = left + (stacked() ? 0 : number * (wide() + gap));
    const double y = above + legend_above + (stacked() ? number * (high + below + 18) : 0);
    const double all = height();
    return fmt::format(
        "    set lmargin at screen {:.6g}\n    set rmargin at screen {:.6g}\n"
        "    set tmargin at screen {:.6g}\n    set bmargin at screen {:.6g}\n",
        x / width, (x + wide()) / width, 1 - y / all, 1 - (y + high) / all);
}

}  // namespace ukemi::plots
