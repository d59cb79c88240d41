// varied_axes.hpp — how far the axes of lines over a number reach, and which are logarithmic.
#pragma once

#include <cstddef>
#include <vector>

#include "plots/figures.hpp"
#include "plots/gnuplot.hpp"

namespace ukemi::plots {

inline constexpr int tics_of_panel = 6;  // at most, of numbers upwards

std::vector<double> places_of(const VariationInput& input);  // each once, in order
bool log_places(const VariationInput& input);

// Whether a quantity's axis is logarithmic: always, or as that of the numbers, where all values can
// be shown.
bool on_log_axis(const VariationInput& input, std::size_t quantity);

// All of the means and intervals, unless these reach so far that the means could not be told apart:
// then an axis ends before them, and marks say so.
AxisRange range_of(const VariationInput& input, std::size_t quantity);
AxisRange drawn_range(const VariationInput& input, std::size_t quantity);  // of intervals
bool any_cut(const VariationInput& input);

// Pixels of the widest number on a quantity's axis.
double numbers_width(const VariationInput& input, std::size_t quantity);

}  // namespace ukemi::plots
