// seeded_figures.hpp — what a varied number does to schedules or searches, as a figure shows it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plots/figures.hpp"

namespace ukemi::analysis {

// A column of their summaries, as a panel.
struct SeededQuantity {
    plots::VariationQuantity shown;
    std::string metric;  // "makespan_s"
    double scale = 1;    // one of what is shown in the metric's unit is 1 / scale
};

// Of schedule.json or search.json: a line for who decided, called `compared` there; means over
// the seeds, with their intervals. Nothing where no number was varied.
std::vector<plots::VariationInput> seeded_variations(const std::filesystem::path& file,
                                                     const std::string& compared,
                                                     std::span<const SeededQuantity> quantities);

}  // namespace ukemi::analysis
