// line_fit.hpp — the straight line through measured points: what a thing costs at all, and what
// each unit of it costs more. α–β of a collective, fixed + per sample of a step.
//
// Weighted least squares with weights 1 ÷ y²: points count by their relative error, so a fit over
// sizes from bytes to gigabytes does not forget the small ones. Neither coefficient is negative:
// where the free fit has one below zero, it is the best line without it. A fit says how far it is
// off and over which range it was made; outside that range it is a guess.
#pragma once

#include <cstddef>
#include <span>

namespace ukemi {

struct LinePoint {
    double x = 0;  // ≥ 0
    double y = 0;  // > 0
};

struct LineFit {
    double fixed = 0;
    double per_unit = 0;
    double x_min = 0;  // the range
    double x_max = 0;
    std::size_t points = 0;
    double off_most = 0;  // largest |fit − y| ÷ y
    double off_rms = 0;

    double at(double x) const { return fixed + per_unit * x; }
    bool covers(double x) const { return x >= x_min && x <= x_max; }
};

// At least one point. With one x alone everything is fixed.
LineFit fit_line(std::span<const LinePoint> points);

}  // namespace ukemi
