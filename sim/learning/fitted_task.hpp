// fitted_task.hpp — a recorded task whole: its law, and what a step of it takes on one GPU.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

struct FittedTask {
    std::string name;  // of its folder: "imagenet"
    NoiseScaleLaw law;
    std::vector<std::int64_t> batches;  // recorded, rising; the law is fitted on the ends
    std::int64_t epochs = 1;            // rows of the smallest batch's run
    double fixed_s = 0;                 // a step takes this and `per_sample_s` a sample: a line
    double per_sample_s = 0;            // through the recorded batches of one GPU
    std::int64_t gpu_batch_most = 1;    // recorded
};

// Of each model under `folder` with runs at two batches at least and step times in scalability.csv
// (as pollux_iterations and step_compute_times read them): the rate is the Plan's.
std::vector<FittedTask> fitted_tasks(const std::filesystem::path& folder);

}  // namespace ukemi::sim
