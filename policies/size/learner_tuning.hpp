// learner_tuning.hpp — Crossbow's search for the number of learners that a GPU bears.
//
// Koliousis et al., VLDB'19, as in its ModelManager.java: δ = (now − before) ÷ before, the first
// time 1; δ above the threshold adds a learner on every GPU, anything else takes the last one back
// and ends the search. Crossbow reads a throughput averaged over a second at every synchronisation,
// so two questions may fall into one window and end the search early: ask once a whole window under
// one number of learners.
//
// tune_learners asks it where a world turns learners_per_gpu.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace ukemi::policies {

inline constexpr double learner_threshold = 0.1;

class LearnerTuning {
public:
    LearnerTuning(std::int32_t learners_max, double threshold = learner_threshold)
        : learners_max_(learners_max), threshold_(threshold) {}

    bool done() const { return done_; }
    // How many learners there should be, after a window with this many at this throughput, where
    // the world has at most `world_max`.
    std::int32_t after_window(std::int32_t learners, double throughput,
                              std::int32_t world_max = std::numeric_limits<std::int32_t>::max()) {
        if (done_) return learners;
        const double rise = before_ > 0 ? (throughput - before_) / before_ : 1;
        before_ = throughput;
        if (rise > threshold_ && learners < std::min(learners_max_, world_max)) return learners + 1;
        done_ = true;
        return rise > threshold_ || learners == 1 ? learners : learners - 1;
    }

private:
    std::int32_t learners_max_;
    double threshold_;
    double before_ = 0;  // in the window before
    bool done_ = false;
};

}  // namespace ukemi::policies
