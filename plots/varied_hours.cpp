#include "plots/varied_hours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/time_unit.hpp"

namespace ukemi::plots {
namespace {

void scale(VariationValue& value, double factor) {
    value.mean *= factor;
    if (value.interval_95) {
        value.interval_95->first *= factor;
        value.interval_95->second *= factor;
    }
    if (value.ideal) *value.ideal *= factor;
    if (value.published) *value.published *= factor;
}

}  // namespace

VariationInput in_time_units(VariationInput input) {
    if (input.hours) {
        double most_h = 0;
        for (const VariationLine& line : input.lines) {
            for (const VariationPoint& point : line.points) most_h = std::max(most_h, point.at);
        }
        const TimeUnit unit = axis_time_unit(most_h);
        for (VariationLine& line : input.lines) {
            for (VariationPoint& point : line.points) point.at *= unit.per_hour;
        }
        input.axis += fmt::format(" ({})", unit.symbol);
        input.column += fmt::format("_{}", unit.symbol);
    }
    for (std::size_t i = 0; i < input.quantities.size(); ++i) {
        if (!input.quantities[i].hours) continue;
        double most_h = 0;
        for (const VariationLine& line : input.lines) {
            for (const VariationPoint& point : line.points) {
                most_h = std::max(most_h, std::abs(point.values[i].mean));
            }
        }
        const TimeUnit unit = axis_time_unit(most_h);
        for (VariationLine& line : input.lines) {
            for (VariationPoint& point : line.points) scale(point.values[i], unit.per_hour);
        }
        input.quantities[i].axis += fmt::format(" ({})", unit.symbol);
        input.quantities[i].column += fmt::format("_{}", unit.symbol);
    }
    return input;
}

}  // namespace ukemi::plots
