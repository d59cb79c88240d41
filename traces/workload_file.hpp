// workload_file.hpp — recorded workloads: which jobs came to a cluster, when, and for how many
// GPUs.
//
// Forms, by their header: `name,time,application,num_replicas,batch_size` (Pollux, Sia: times in
// seconds since the start) and tables of `submission_time` or `timestamp`, `duration` and `num_gpu`
// or `num_gpus` (Microsoft ITP, Philly; ElasticFlow with a `deadline`), whose clock is set to zero
// at the first submission of all files. Anything else is an InputError with its line and column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::traces {

// One job. Either its application and batch are known, or how long it ran on its GPUs.
struct WorkloadRow {
    std::string name;
    Duration arrival;  // since the start of the file's clock
    std::int32_t gpus = 1;
    std::string application;
    std::int64_t batch = 0;
    Duration service;
    Duration deadline = Duration::max();  // on the same clock; the largest: none
};

// The jobs of all files, which are of one form, in the order of arrival; of one instant, in that of
// the files and their rows.
std::vector<WorkloadRow> read_workloads(std::span<const std::filesystem::path> files);

}  // namespace ukemi::traces
