#include "base/line_fit.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace ukemi;

TEST_CASE("line fit: points on a line are found again, over nine powers of ten", "[line_fit]") {
    std::vector<LinePoint> points;
    for (double x = 8; x < 1e10; x *= 10) points.push_back({x, 3e-5 + x * 4e-11});
    const LineFit fit = fit_line(points);
    CHECK(fit.fixed == Approx(3e-5).epsilon(1e-9));
    CHECK(fit.per_unit == Approx(4e-11).epsilon(1e-9));
    CHECK(fit.off_most < 1e-9);
    CHECK(fit.points == points.size());
    CHECK(fit.covers(8));
    CHECK(fit.covers(8e9));
    CHECK_FALSE(fit.covers(7));
    CHECK_FALSE(fit.covers(1e10));
}

TEST_CASE("line fit: small and large points count alike", "[line_fit]") {
    // 10 % too slow at one end, 10 % too fast at the other: relative errors stay of that size.
    const std::vector<LinePoint> points{{1, 1.1}, {10, 1.09}, {1e6, 0.9 * 1e4}};
    const LineFit fit = fit_line(points);
    CHECK(fit.off_most < 0.06);
    CHECK(fit.off_rms <= fit.off_most);
}

TEST_CASE("line fit: neither coefficient is negative", "[line_fit]") {
    const std::vector<LinePoint> falls{{1, 3}, {2, 2}, {3, 1}};
    CHECK(fit_line(falls).per_unit == 0);
    CHECK(fit_line(falls).fixed > 0);
    const std::vector<LinePoint> below{{1, 0.5}, {2, 2}, {3, 4}};
    CHECK(fit_line(below).fixed == 0);
    CHECK(fit_line(below).per_unit > 0);
}

TEST_CASE("line fit: one place alone says nothing about the slope", "[line_fit]") {
    const LineFit fit = fit_line(std::vector<LinePoint>{{5, 2}, {5, 2}});
    CHECK(fit.fixed == 2);
    CHECK(fit.per_unit == 0);
    CHECK(fit.off_most == 0);
}
