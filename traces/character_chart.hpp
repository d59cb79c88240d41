// character_chart.hpp — a series drawn with characters, for terminals.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/series.hpp"

namespace ukemi::traces {

inline constexpr std::size_t chart_width_min = 20;
inline constexpr std::size_t chart_width_max = 200;

// The time-weighted mean in each of `columns` equal parts of the series; one value for a series
// without any length.
std::vector<double> column_means(const AvailabilitySeries& series, std::size_t columns);
std::vector<double> column_means(const PriceSeries& series, std::size_t columns);  // USD/h

// Lines of text, each `width` characters at most (blocks of eighths, UTF-8): `rows` of bars between
// `low` and `high`, labels of both at the left, and what the horizontal axis is below.
std::string chart(std::span<const double> values, double low, double high, std::size_t rows,
                  std::size_t width, std::string_view below);

// How many columns of values fit beside the labels.
std::size_t chart_columns(std::size_t width);

}  // namespace ukemi::traces
