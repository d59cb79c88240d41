// recorded_runs.hpp — recorded training by batch: AdaptDL's validation files, one a batch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace ukemi::sim {

struct RecordedStatistics {
    double progress_steps = 0;  // in steps of the smallest batch (AdaptDL's statistical iterations)
    double steps = 0;
    double squared_norm = 0;  // |G|²; these two: 0 if the file has none
    double variance = 0;      // tr Σ ÷ the smallest batch
};
struct RecordedRun {
    std::vector<RecordedStatistics> rows;  // rising in both counts, one at least
};
using RecordedRuns = std::map<std::int64_t, RecordedRun>;  // by batch

// validation-BATCH.csv of one folder, in any number; none if there is no such folder. InputError
// for a file that is not of this form.
RecordedRuns recorded_runs(const std::filesystem::path& folder);
bool has_statistics(const RecordedRuns& runs);

}  // namespace ukemi::sim
