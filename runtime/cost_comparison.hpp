// cost_comparison.hpp — two calibrations of one thing beside each other: do they hold the spread
// that they state?
//
// For each thing a calibration states the range from the 10 % to the 90 % quantile of its times,
// and never less than 2.5 % of the median either way (a clock step and a cache apart). Two agree
// about it where their ranges overlap: then the medians are no further apart than the two sides
// that face each other. Fewer than eight values state no range that one could hold them to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "scenarios/reader/live_costs.hpp"

namespace ukemi::runtime {

enum class Agreement : std::uint8_t { agrees, disagrees, too_few, only_first, only_second };

struct CostDifference {
    std::string
        name;  // "step, 2 workers, batch 64, s_sgd", "all_reduce ring, 2 ranks, 65536 bytes", …
    double first_s = 0;  // medians; 0 for who has none
    double second_s = 0;
    double stated_s = 0;  // how far apart the sides that face each other let them lie
    Agreement agreement = Agreement::too_few;
};

CostDifference difference(std::string name, const kernels::MeasuredTimes& first,
                          const kernels::MeasuredTimes& second);

// Of everything that either has. InputError, which names `file` as the second's, if they are of
// different machines or trainings.
std::vector<CostDifference> differences(const scenarios::LiveCosts& first,
                                        const scenarios::LiveCosts& second,
                                        const std::filesystem::path& file);

std::size_t count(std::span<const CostDifference> all, Agreement which);

// A line each, and a last one that counts them.
std::string difference_table(std::span<const CostDifference> all);

}  // namespace ukemi::runtime
