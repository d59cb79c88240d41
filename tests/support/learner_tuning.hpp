// learner_tuning.hpp — Crossbow's search for a number of learners, on an engine alone.
#pragma once

#include <vector>

#include "kernels/learners/learner_engine.hpp"
#include "policies/size/learner_tuning.hpp"

namespace ukemi::test {

// Crossbow's search on a running engine: windows of so many clocks, each under one number of
// learners, until LearnerTuning has done. The engine is left with what was found.
struct TuningWindow {
    int learners = 1;
    double samples_per_s = 0;
};
inline std::vector<TuningWindow> tune_learners(kernels::LearnerEngine& engine,
                                               policies::LearnerTuning tuning,
                                               std::int64_t clocks_of_window) {
    std::vector<TuningWindow> windows;
    while (!tuning.done()) {
        const kernels::EngineReport report = engine.run(clocks_of_window);
        if (report.outcome != kernels::Outcome::ok) break;
        windows.push_back({engine.learners_per_gpu(), report.samples_per_s()});
        const int next =
            tuning.after_window(engine.learners_per_gpu(), windows.back().samples_per_s);
        if (next != engine.learners_per_gpu()) engine.set_learners(next);
    }
    return windows;
}

}  // namespace ukemi::test
