#include "base/line_fit.hpp"

#include <algorithm>
#include <cmath>

#include "base/invariant.hpp"

namespace ukemi {

namespace {

struct Sums {  // over points, each weighted with 1 ÷ y²
    double one = 0;
    double x = 0;
    double xx = 0;
    double y = 0;
    double xy = 0;
};

void set_coefficients(const Sums& sums, LineFit& fit) {
    const double determinant = sums.one * sums.xx - sums.x * sums.x;
    if (fit.x_min < fit.x_max && determinant > 0) {
        fit.per_unit = (sums.one * sums.xy - sums.x * sums.y) / determinant;
        fit.fixed = (sums.xx * sums.y - sums.x * sums.xy) / determinant;
    } else {
        fit.fixed = sums.y / sums.one;
    }
    if (fit.per_unit < 0) {
        fit.per_unit = 0;
        fit.fixed = sums.y / sums.one;
    } else if (fit.fixed < 0) {
        fit.fixed = 0;
        fit.per_unit = sums.xy / sums.xx;
    }
}

}  // namespace

LineFit fit_line(std::span<const LinePoint> points) {
    INVARIANT(!points.empty());
    LineFit fit;
    fit.points = points.size();
    fit.x_min = fit.x_max = points.front().x;
    Sums sums;
    for (const LinePoint& point : points) {
        INVARIANT(point.x >= 0 && point.y > 0);
        const double weight = 1 / (point.y * point.y);
        sums.one += weight;
        sums.x += weight * point.x;
        sums.xx += weight * point.x * point.x;
        sums.y += weight * point.y;
        sums.xy += weight * point.x * point.y;
        fit.x_min = std::min(fit.x_min, point.x);
        fit.x_max = std::max(fit.x_max, point.x);
    }
    set_coefficients(sums, fit);
    double squares = 0;
    for (const LinePoint& point : points) {
        const double off = std::abs(fit.at(point.x) - point.y) / point.y;
        fit.off_most = std::max(fit.off_most, off);
        squares += off * off;
    }
    fit.off_rms = std::sqrt(squares / static_cast<double>(points.size()));
    return fit;
}

}  // namespace ukemi
