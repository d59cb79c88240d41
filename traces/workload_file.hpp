// workload_file.hpp — recorded workloads: which jobs came to a cluster, when, and for how many
// GPUs.
//
// Forms, by their header: `name,time,application,num_replicas,batch_size` (Pollux, Sia: times in
// seconds since the start) and tables of `submission_time`, `submit_time` or `timestamp`,
// `duration` and `num_gpu`, `num_gpus` or `gpu_num` (Microsoft ITP, Philly, Helios; ElasticFlow
// with a `deadline` or `ddl`), times in seconds or as dates, whose clock is set to zero at the
// first submission of all files; both may have columns `user`, `priority` and `budget_usd`. Without
// one, with tabs: Gavel's traces of 7 or 10 columns, which say how many steps a job makes, and of
// 10 its weight and SLO. Anything else is an InputError with its line and column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::traces {

inline constexpr std::int64_t priority_most = 1000;

// One job. Its application and batch are known, or how long it ran on its GPUs, or how many steps
// it makes of which kind.
struct WorkloadRow {
    std::string name;
    Duration arrival;  // since the start of the file's clock
    std::int32_t gpus = 1;
    std::string application;
    std::int64_t batch = 0;
    Duration service;
    std::int64_t steps = 0;
    std::string kind;  // and GPUs, as Gavel's table of steps a second names them (step_rates.hpp)
    Duration deadline = Duration::max();  // on the same clock; the largest: none
    double slo = 0;  // of counted steps: the deadline, in times that they take; 0: none
    std::string user;
    std::int64_t priority = 1;  // to priority_most
    std::optional<double> budget_usd;
};

// Each row of all files, which are of one form, as it is read; times are those of the files. What
// their clock shows at its zero.
Duration scan_workloads(std::span<const std::filesystem::path> files,
                        const std::function<void(const WorkloadRow&)>& take);

// The jobs of all files, which are of one form, in the order of arrival; of one instant, in that of
// the files and their rows. Tables of submissions may keep the hour of the day: their zero is then
// the midnight before the first one.
enum class WorkloadZero : std::uint8_t { first_job, midnight };
std::vector<WorkloadRow> read_workloads(std::span<const std::filesystem::path> files,
                                        WorkloadZero begins = WorkloadZero::first_job);

}  // namespace ukemi::traces
