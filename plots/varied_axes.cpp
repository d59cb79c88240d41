#include "plots/varied_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace ukemi::plots {

std::vector<double> places_of(const VariationInput& input) {
    std::set<double> places;
    for (const VariationLine& line : input.lines) {
        for (const VariationPoint& point : line.points) places.insert(point.at);
    }
    return {places.begin(), places.end()};
}

bool log_places(const VariationInput& input) {
    if (!input.places.empty()) return false;
    const std::vector<double> places = places_of(input);
    return spans_decades(places.front(), places.back());
}

namespace {

// Whether the largest of its means is a thousand times the least.
bool spans_thousands(const VariationInput& input, std::size_t quantity) {
    double least = std::numeric_limits<double>::max();
    double most = 0;
    for (const VariationLine& line : input.lines) {
        for (const VariationPoint& point : line.points) {
            least = std::min(least, point.values[quantity].mean);
            most = std::max(most, point.values[quantity].mean);
        }
    }
    return least > 0 && most >= 1000 * least;
}

}  // namespace

bool on_log_axis(const VariationInput& input, std::size_t quantity) {
    const VariationQuantity& shown = input.quantities[quantity];
    const bool wanted = shown.log_too || spans_thousands(input, quantity);
    if (!shown.log && !(wanted && log_places(input))) return false;
    return std::ranges::all_of(input.lines, [&](const VariationLine& line) {
        return std::ranges::all_of(line.points, [&](const VariationPoint& point) {
            const VariationValue& value = point.values[quantity];
            return value.mean > 0 && value.ideal.value_or(1) > 0 && value.published.value_or(1) > 0;
        });
    });
}

AxisRange range_of(const VariationInput& input, std::size_t quantity) {
    constexpr double reach_most = 5;  // over that of the means; on a logarithmic axis a factor
    double min = std::numeric_limits<double>::max();
    double max = std::numeric_limits<double>::lowest();
    double low = min;
    double high = max;
    for (const VariationLine& line : input.lines) {
        for (const VariationPoint& point : line.points) {
            const VariationValue& value = point.values[quantity];
            const double ideal = value.ideal.value_or(value.mean);
            const double published = value.published.value_or(value.mean);
            min = std::min({min, value.mean, ideal, published});
            max = std::max({max, value.mean, ideal, published});
            if (!value.interval_95) continue;
            low = std::min(low, value.interval_95->first);
            high = std::max(high, value.interval_95->second);
        }
    }
    if (on_log_axis(input, quantity)) {
        const double least = std::max(low, min / reach_most);
        const double most = std::min(high, max * reach_most);
        min = std::min(min, least);
        max = std::max(max, most);
        const double factor = std::pow(max / min, 0.06);
        return {min / factor, max * factor};
    }
    const double reach =
        reach_most * std::max(max - min, 0.2 * std::max(std::abs(max), std::abs(min)));
    const double least = std::max(low, min - reach);
    const double most = std::min(high, max + reach);
    return axis_range(std::min(min, least), std::max(max, most));
}

AxisRange drawn_range(const VariationInput& input, std::size_t quantity) {
    const AxisRange range = range_of(input, quantity);
    if (!on_log_axis(input, quantity)) {
        const double margin = 0.02 * (range.high - range.low);
        return {range.low + margin, range.high - margin};
    }
    const double factor = std::pow(range.high / range.low, 0.02);
    return {range.low * factor, range.high / factor};
}

bool any_cut(const VariationInput& input) {
    for (std::size_t quantity = 0; quantity < input.quantities.size(); ++quantity) {
        const AxisRange range = drawn_range(input, quantity);
        for (const VariationLine& line : input.lines) {
            for (const VariationPoint& point : line.points) {
                const auto& interval = point.values[quantity].interval_95;
                if (!interval) continue;
                if (interval->first < range.low || interval->second > range.high) return true;
            }
        }
    }
    return false;
}

double numbers_width(const VariationInput& input, std::size_t quantity) {
    const AxisRange range = range_of(input, quantity);
    double widest = 0;
    const auto widen = [&](double number) {
        widest = std::max(widest, label_width(fmt::format("{:g}", number)));
    };
    if (on_log_axis(input, quantity)) {
        for (const double end : {range.low, range.high}) {
            widen(std::pow(10.0, std::floor(std::log10(end))));
        }
        return widest;
    }
    const double step = tic_step(range.high - range.low, tics_of_panel);
    for (int i = 0; i <= tics_of_panel; ++i) {
        const double number = (std::ceil(range.low / step) + i) * step;
        if (number <= range.high) widen(number);
    }
    return widest;
}

}  // namespace ukemi::plots
