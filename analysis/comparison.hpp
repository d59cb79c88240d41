// comparison.hpp — what `ukemi compare` says of many runs: what it took each candidate to get
// there.
//
// A candidate is a policy list in one variant of a scenario; its runs differ in seed and trace.
// Times, samples, steps and dollars are those of the runs that reached their target, as means with
// the 95 % interval over what is independent (analysis/units.hpp); how many did not is always said.
// A job whose work is a time has neither samples nor steps.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analysis/outcome_means.hpp"
#include "analysis/pairs.hpp"
#include "analysis/table.hpp"
#include "analysis/units.hpp"
#include "base/statistics.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

struct Candidate : PolicyInVariant {
    OutcomeMeans outcome;  // of `runs`, those that finished their work are reached
    Summary hours;         // of those
    Summary samples;
    Summary steps;
    Summary dollars;
    Summary accuracy;  // at the end, of those that know one

    bool all_reached() const { return outcome.finished == outcome.runs; }
};

// In the order of the runs.
std::vector<Candidate> candidates_of(std::span<const records::RunResult> runs);

// At most as wide as is said, and 100 columns at least. Who always got there in time stands first,
// what was not reached at all last, each from fast to slow.
// Several scenarios stand one below the other, and then each policy's time in each as a multiple of
// the best one's there: what does not transfer shows.
std::string comparison_table(std::span<const Candidate> candidates,
                             std::size_t width = table_width_least);
// With what `pairs` says of the same candidate, where it says anything.
std::string comparison_csv(std::span<const Candidate> candidates,
                           std::span<const PolicyPair> pairs = {});
std::string comparison_json(std::span<const Candidate> candidates,
                            std::span<const PolicyPair> pairs = {},
                            std::span<const std::string> warnings = {});

}  // namespace ukemi::analysis
