// character_chart.cpp — bars of eighths of a character; a value above zero is never drawn as none.
#include "traces/character_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/invariant.hpp"

namespace ukemi::traces {

namespace {

constexpr std::size_t label_width = 9;
constexpr std::array<std::string_view, 9> eighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

double plain(std::int32_t value) { return value; }
double plain(Price value) { return to_dollars_per_hour(value); }

template <class Value>
std::vector<double> means(const Series<Value>& series, std::size_t columns) {
    const Duration length = series.end.since_start();
    if (length <= Duration{}) return {plain(series.steps.back().value)};
    std::vector<double> values;
    std::size_t step = 0;
    for (std::size_t column = 0; column < columns; ++column) {
        const auto edge = [&](std::size_t index) {
            return Instant::at(Duration::of(static_cast<std::int64_t>(
                static_cast<Int128>(length.raw()) * static_cast<std::int64_t>(index) /
                static_cast<std::int64_t>(columns))));
        };
        const Instant end = edge(column + 1);
        double sum = 0;
        double time = 0;
        for (Instant now = edge(column); now < end;) {
            while (step + 1 < series.steps.size() && series.steps[step + 1].at <= now) ++step;
            const Instant next =
                step + 1 < series.steps.size() ? std::min(end, series.steps[step + 1].at) : end;
            sum += plain(series.steps[step].value) * to_seconds(next - now);
            time += to_seconds(next - now);
            now = next;
        }
        values.push_back(time > 0 ? sum / time : plain(series.steps[step].value));
    }
    return values;
}

// In eighths of a row, from the bottom of all rows.
std::size_t height_of(double value, double low, double high, std::size_t rows) {
    if (high <= low) return value > 0 ? 8 * rows : 0;
    const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
    const auto height =
        static_cast<std::size_t>(std::lround(share * 8 * static_cast<double>(rows)));
    return height == 0 && value > low ? 1 : height;
}

}  // namespace

std::vector<double> column_means(const AvailabilitySeries& series, std::size_t columns) {
    return means(series, columns);
}
std::vector<double> column_means(const PriceSeries& series, std::size_t columns) {
    return means(series, columns);
}

std::size_t chart_columns(std::size_t width) {
    return std::clamp(width, chart_width_min, chart_width_max) - label_width;
}

std::string chart(std::span<const double> values, double low, double high, std::size_t rows,
                  std::size_t width, std::string_view below) {
    INVARIANT(rows > 0);
    const std::size_t columns = std::min(values.size(), chart_columns(width));
    std::string text;
    for (std::size_t row = rows; row-- > 0;) {
        const bool labelled = row + 1 == rows || row == 0;
        const std::string label =
            labelled ? fmt::format("{:.4g}", row == 0 && rows > 1 ? low : high) : "";
        text += fmt::format("{:>{}} ", label.substr(0, label_width - 2), label_width - 2);
        std::string line;
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t height = height_of(values[column], low, high, rows);
            const std::size_t filled =
                height > 8 * row ? std::min<std::size_t>(height - 8 * row, 8) : 0;
            line += eighths[filled];
        }
        text += "│" + line + "\n";
    }
    text += std::string(label_width, ' ');
    text += below.substr(0, std::min(below.size(), chart_columns(width)));
    return text + "\n";
}

}  // namespace ukemi::traces
