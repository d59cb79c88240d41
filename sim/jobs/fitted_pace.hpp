// fitted_pace.hpp — how fast a job of a measured application believes to be elsewhere, after the
// steps that it has made: its fit of step times (step_fit.hpp), and the gradients it saw last.
#pragma once

#include <map>
#include <utility>

#include "sim/jobs/batch_ladder.hpp"
#include "sim/jobs/step_fit.hpp"

namespace ukemi::sim {

class FittedPace {
public:
    FittedPace(const traces::Application& application, std::size_t type)
        : application_(application), type_(type) {}

    void saw(const SeenStep& step, const traces::MeasuredGradient& gradient);

    struct Best {
        DividedBatch shape;
        double pace = 0;  // progress a second; 0: no batch can be divided so
    };
    // Of fifty batches, each larger by the same factor, from the least that these GPUs can have to
    // the largest. Before the first step: the least, and a pace in proportion to the GPUs.
    const Best& best(std::int32_t machines, std::int32_t gpus) const;
    double pace(std::int32_t machines, std::int32_t gpus, std::int64_t batch) const;

private:
    Best found(std::int32_t machines, std::int32_t gpus) const;

    const traces::Application& application_;
    std::size_t type_;
    StepFit steps_;
    traces::MeasuredGradient gradient_;
    mutable std::map<std::pair<std::int32_t, std::int32_t>, Best> known_;  // since the last step
};

}  // namespace ukemi::sim
