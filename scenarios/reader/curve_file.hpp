// curve_file.hpp — recorded learning curves of several batches in one CSV file.
#pragma once

#include <filesystem>
#include <vector>

#include "sim/learning/recorded_curves.hpp"

namespace ukemi::scenarios {

// Columns `batch`, `samples` (used until then) and `value` (of the metric), in any order and with
// others beside them; a row an evaluation. The rows of a batch may stand anywhere, each with more
// samples than the one before. By rising batch. InputError with the line and column of what is
// wrong.
std::vector<sim::RecordedCurve> read_curve_file(const std::filesystem::path& file);

}  // namespace ukemi::scenarios
