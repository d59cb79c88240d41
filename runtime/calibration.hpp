// calibration.hpp — measures what a step, a resize, a checkpoint take on this machine, by training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/live_run.hpp"
#include "scenarios/reader/live_costs.hpp"

namespace ukemi::runtime {

struct CalibrationOptions {
    std::string device = scenarios::this_device();  // the costs' device
    std::int32_t workers_max = 2;
    std::int64_t steps = 50;  // of a stretch
    int stretches = 5;        // a repetition
    int repetitions = 3;      // each with processes of its own
    int changes = 3;          // of each kind, a repetition
    std::vector<scenarios::StepSetting>
        settings;  // beside the scenario's own Plan, for each group size
    std::optional<kernels::MachineOptions> machine;  // nothing: not measured
    LiveOptions live;
    // Told what comes next, now and then: "repetition 2 of 3: steps of 2 workers".
    std::function<void(const std::string&)> on_progress;
};

// Settings around the scenario's Plan that a law needs: half and double its batch, with every
// synchronisation that this world can train, two learners, and every codec at the Plan's batch.
std::vector<scenarios::StepSetting> calibration_grid(const scenarios::Scenario& scenario,
                                                     std::int32_t workers_max);

// The same with these batches of a worker and nothing else: plain S-SGD.
std::vector<scenarios::StepSetting> batch_grid(const scenarios::Scenario& scenario,
                                               std::int32_t workers_max,
                                               std::span<const std::int64_t> batches);

// A worker's first two steps are longer than those that follow: libraries load what they need,
// memory is laid out, and a GPU's launches are recorded as a graph, the second time.
inline constexpr std::int64_t steps_until_warm = 2;
inline constexpr std::int64_t steps_when_warm = 3;
// What starting took, that included, from when each of these steps was done since it began: until
// the second, less two steps of the length that the next three have.
double warm_after_s(std::span<const double> done_s);
// As many as that takes, of at least as many that a group has sent; std::runtime_error of fewer.
std::span<const double> first_reports(std::span<const double> done_s);

// Throws std::runtime_error if a worker dies, nothing happens for a minute, or
// `options.live.stop_requests` is not 0.
scenarios::LiveCosts measure_costs(const scenarios::Scenario& scenario,
                                   const CalibrationOptions& options);

}  // namespace ukemi::runtime
