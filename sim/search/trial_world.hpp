// trial_world.hpp — where the trials of a search are really trained: in place of what a
// LearnedTrial works out.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/jobs/job_world.hpp"
#include "sim/search/search_space.hpp"

namespace ukemi::sim {

// Training of one trial from where it is.
struct PieceOrder {
    std::size_t trial = 0;
    // From where that trial is, with its weights: no piece of it has begun since.
    std::optional<std::size_t> copies;
    TrialSettings settings;
    std::uint64_t seed = 0;  // of its weights and its order of samples
    std::int64_t samples_from = 0;
    std::int64_t samples_until = 0;
};

class TrialWorld {
public:
    virtual ~TrialWorld() = default;
    virtual JobWorld& jobs() = 0;  // that the pieces are
    // Job `job` will be this piece; it arrives later.
    virtual void expect(std::size_t job, const PieceOrder& piece) = 0;
    // What its model was worth when it ended; nothing if it failed.
    virtual std::optional<double> metric(std::size_t job) = 0;
};

}  // namespace ukemi::sim
