// search_run.hpp — a hyper-parameter search in simulated time: pieces of trials are jobs that share
// a cluster under a scheduler, and what they learn says which come next.
//
// A piece holds the GPUs that the scheduler gives it; between two pieces a trial is paused, and
// each start takes the restart. What a trial learns does not depend on how many GPUs it had: its
// batch is that of all of them together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/jobs/schedule_run.hpp"
#include "sim/search/learned_trials.hpp"
#include "sim/search/searcher.hpp"
#include "sim/search/trial_world.hpp"

namespace ukemi::sim {

struct SearchCluster {
    SharedCluster cluster;
    Duration round;    // zero: at every event
    Duration restart;  // of each start
    bool keeps_spans = true;
    TrialWorld* world = nullptr;  // who trains; null: what is learned is worked out
};

// One piece: job `i` of the schedule.
struct TrainedPiece {
    TrialPiece asked;
    std::int64_t from = 0;  // units
    Instant came;           // when it was asked for
    double metric = 0;      // at its end
    bool failed = false;    // it never came to that, or the run was told to end before
};

struct SearchedTrial {
    TrialSettings settings;  // the last
    std::int64_t units = 0;
    double metric = 0;  // there
    double gpu_s = 0;   // held
};

struct SearchOutcome {
    ScheduleOutcome schedule;
    std::vector<TrainedPiece> pieces;
    std::vector<SearchedTrial> trials;
    std::size_t winner = 0;  // of those that trained farthest the best; of equals the first
    bool anything() const { return trials[winner].units > 0; }  // else no piece came to its end
    double gpu_s = 0;                                           // of all pieces
    // That it takes to train each trial to its end, on what it asks for; of simulated ones.
    std::optional<double> full_gpu_s;
    std::int64_t restarts = 0;  // of pieces: starts beyond the first
};

SearchOutcome run_search(const SearchCluster& where, LearnedTrials& learned, Searcher& searcher,
                         const SearchTerms& terms, bool on_grid, schedulers::Scheduler& scheduler);

// Against training all of them to their ends, which is done for it where nobody has.
struct FullComparison {
    std::size_t winner = 0;
    double metric = 0;  // of that one
    double found = 0;   // of the search's winner, there
    bool same_winner = false;
    bool as_good = false;  // the same winner, or one whose metric is no worse at its end
};
FullComparison compared_with_full(const SearchOutcome& outcome, LearnedTrials& learned,
                                  bool on_grid);

}  // namespace ukemi::sim
