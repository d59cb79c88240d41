// step_times.hpp — how long steps took, from the moments at which their ends were taken up.
//
// Where the coordinator itself stood still, several ends are taken up at once, and the first of
// them is late: what is measured from there on looks too short (0.08 ms for 0.74). So nothing is
// measured from an end that the next one follows within half of the median time between two.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ukemi::runtime {

// The mean step, from the first end that was not late. Of at least two.
double mean_step_s(std::span<const double> ends_s);

// Means over `length` steps in a row, one stretch after the other, `most` of them at most; one over
// all steps if there are fewer.
std::vector<double> stretch_means_s(std::span<const double> ends_s, std::size_t length,
                                    std::size_t most);

}  // namespace ukemi::runtime
