// read_pass_times.hpp — how long each worker of a job of steps computes, and whether its model
// fits.
#pragma once

#include <vector>

#include "base/config_reader.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

struct MemoryKind {
    sim::Precision precision = sim::Precision::fp32;
    sim::MemoryRule rule;
    std::int64_t state_values = 0;  // of the optimiser, for a parameter
    sim::LossKind loss = sim::LossKind::megatron;
};
// Keys "precision", "optimiser_state" and "loss".
MemoryKind read_memory_kind(ConfigReader& config);

// Key "learners": {"count": 4, "sharing": "in_turn"}, or a number of them that are side by side.
sim::LearnerRule read_learners(ConfigReader& config);

// Fills in what each worker computes, after it has been checked that the batch fits, and what the
// entry says of its workers' GPUs; with kernels timed one by one, the layout, too, and when the
// forward pass ends. Returns when the layers of the slowest kind are ready, if that is known
// (sim::ready_shares).
std::vector<double> read_pass_times(ConfigReader& config, const sim::Topology& topology,
                                    MemoryCheck check, const sim::ModelProfile& model,
                                    const MemoryKind& memory, StepJobEntry& entry);

}  // namespace ukemi::scenarios
