#include "sim/learning/schedule_cells.hpp"

#include <algorithm>
#include <set>

namespace ukemi::sim {

namespace {

constexpr int cells_per_segment = 64;

NoiseScalePoint on_curve(const std::vector<NoiseScalePoint>& curve, double samples) {
    const auto after = std::ranges::upper_bound(
        curve, samples, {},
        [](const NoiseScalePoint& point) { return static_cast<double>(point.samples); });
    if (after == curve.begin()) return curve.front();
    const NoiseScalePoint& left = *(after - 1);
    if (after == curve.end()) return left;
    const double part = (samples - static_cast<double>(left.samples)) /
                        static_cast<double>(after->samples - left.samples);
    return {left.samples, left.noise_scale + part * (after->noise_scale - left.noise_scale),
            left.squared_norm + part * (after->squared_norm - left.squared_norm)};
}

// Where cells begin: at every point and drop, and evenly between two of them.
std::vector<std::int64_t> cell_borders(const NoiseScaleLaw& law) {
    std::set<std::int64_t> corners{0, law.samples};
    for (const NoiseScalePoint& point : law.noise) corners.insert(point.samples);
    for (const RateDrop& drop : law.drops) corners.insert(drop.samples);
    std::set<std::int64_t> borders;
    for (auto left = corners.begin(), right = std::next(left); right != corners.end();
         left = right++) {
        const Int128 length = *right - *left;
        for (int cell = 0; cell < cells_per_segment; ++cell) {
            borders.insert(*left + static_cast<std::int64_t>(length * cell / cells_per_segment));
        }
    }
    return {borders.begin(), borders.end()};
}

}  // namespace

std::vector<ScheduleCell> schedule_cells(const NoiseScaleLaw& law) {
    std::vector<ScheduleCell> cells;
    const std::vector<std::int64_t> borders = cell_borders(law);
    for (std::size_t index = 0; index < borders.size(); ++index) {
        const std::int64_t end = index + 1 < borders.size() ? borders[index + 1] : law.samples;
        const double middle = 0.5 * (static_cast<double>(borders[index]) +
                                     static_cast<double>(std::max(end, borders[index])));
        const NoiseScalePoint noise = on_curve(law.noise, middle);
        ScheduleCell cell{borders[index], noise.noise_scale, noise.squared_norm, 1};
        for (const RateDrop& drop : law.drops) {
            if (drop.samples > cell.from) continue;
            cell.factor *= drop.factor;
            cell.noise_scale *= drop.noise_factor;
        }
        cells.push_back(cell);
    }
    return cells;
}

}  // namespace ukemi::sim
