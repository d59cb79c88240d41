// comparison.hpp — what `ukemi compare` says of many runs: what it took each candidate to get
// there.
//
// A candidate is a policy list in one variant of a scenario; its runs differ in seed and trace.
// Times, samples, steps and dollars are those of the runs that reached their target, as means with
// the 95 % interval over what is independent (analysis/units.hpp); how many did not is always said.
// A job whose work is a time has neither samples nor steps.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/pairs.hpp"
#include "analysis/regret.hpp"
#include "base/statistics.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

struct Candidate {
    std::string scenario;
    std::string variant;  // "/job/batch=64", or empty
    std::string policy;
    std::size_t runs = 0;
    std::size_t reached = 0;  // of them, that finished their work
    Summary hours;            // of those
    Summary samples;
    Summary steps;
    Summary dollars;
    std::optional<OptimumMean> optimum;
    std::optional<double> regret_percent;
    std::size_t repeated = 0;   // runs that are there again under another seed, and nowhere counted
    std::string clusters_name;  // what intervals are over, one of them: "record"
    std::string clusters_words;  // "6 zones"
};

// In the order of the runs.
std::vector<Candidate> candidates_of(std::span<const records::RunResult> runs);

// At most 100 columns wide; what was not reached at all stands last, the rest from fast to slow.
// Several scenarios stand one below the other, and then each policy's time in each as a multiple of
// the best one's there: what does not transfer shows.
std::string comparison_table(std::span<const Candidate> candidates);
// With what `pairs` says of the same candidate, where it says anything.
std::string comparison_csv(std::span<const Candidate> candidates,
                           std::span<const PolicyPair> pairs = {});
std::string comparison_json(std::span<const Candidate> candidates,
                            std::span<const PolicyPair> pairs = {},
                            std::span<const std::string> warnings = {});

}  // namespace ukemi::analysis
