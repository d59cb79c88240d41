// recorded_runs.hpp — recorded training by batch: AdaptDL's validation files, one a batch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

struct RecordedStatistics {
    double progress_steps = 0;  // in steps of the smallest batch (AdaptDL's statistical iterations)
    double steps = 0;
    double squared_norm = 0;  // |G|²; 0 if the file has none
};
struct RecordedRun {
    std::vector<RecordedStatistics> rows;  // rising in both counts, one at least
};
using RecordedRuns = std::map<std::int64_t, RecordedRun>;  // by batch

// validation-BATCH.csv of one folder, in any number; none if there is no such folder. InputError
// for a file that is not of this form.
RecordedRuns recorded_runs(const std::filesystem::path& folder);

// The noise-scale law of these runs, fitted on the smallest and the largest batch: the schedule is
// the whole run at the smallest. Two batches at least.
NoiseScaleLaw law_of_runs(const RecordedRuns& runs);

// Medians of step_time − sync_time in a scalability.csv, by the batch of a GPU.
std::map<double, double> compute_medians(const std::filesystem::path& file);

// What is in a folder, sorted; nothing if there is no such folder.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder);

}  // namespace ukemi::sim
