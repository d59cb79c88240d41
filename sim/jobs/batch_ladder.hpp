// batch_ladder.hpp — how a measured application divides a batch among GPUs, and which batch gives
// it the most progress a second.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "traces/application_tables.hpp"

namespace ukemi::sim {

// gpus × local × (accumulated + 1).
struct DividedBatch {
    std::int64_t local = 0;
    std::int64_t accumulated = 0;
};

// By the rules of the simulator that came with Pollux (Qiao et al., OSDI'21). `accumulates_alone`:
// one GPU always makes two passes, which is what the variance of gradients is measured with.
DividedBatch divided_batch(const traces::Application& application, std::size_t type,
                           std::int64_t batch, std::int32_t gpus, bool accumulates_alone);

// Of a batch that is divided so.
double step_time_s(const traces::ApplicationStep& step, std::int64_t accumulated);

// Progress of a step over that of a step with the first batch (AdaScale's gain).
double batch_gain(const traces::Application& application, std::int64_t batch, std::int64_t epoch);

// GPUs on so many machines, filled one after another, or as evenly as can be where that is not
// how many they need.
std::vector<std::int32_t> gpus_by_machine(std::int32_t gpus, std::int32_t machines,
                                          std::int32_t gpus_per_machine);

// A number of batches from the first to the largest, each larger by the same factor, and how long
// their steps take: asked for once each, and then remembered. One for all jobs of an application.
class BatchLadder {
public:
    static constexpr std::size_t rungs = 24;

    explicit BatchLadder(const traces::Application& application);
    std::int64_t batch(std::size_t rung) const { return batches_[rung]; }
    // By rung; infinite where the batch cannot be divided so.
    const std::array<double, rungs>& times_s(std::size_t type,
                                             std::span<const std::int32_t> by_machine);

private:
    const traces::Application& application_;
    std::array<std::int64_t, rungs> batches_{};
    std::map<std::pair<std::size_t, std::vector<std::int32_t>>, std::array<double, rungs>> times_s_;
};

}  // namespace ukemi::sim
