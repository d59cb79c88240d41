// workload_model.hpp — a generator of workloads, fitted to recorded ones: when jobs come, for how
// many GPUs, and for how long.
//
// Jobs come in bursts: arrivals with less than a minute between them. Bursts begin as a Poisson
// process whose rate goes by the hour of the day (of the file's clock). How many jobs a burst has,
// the gaps within it and how long jobs run, by their GPUs, are drawn from quantiles of the record.
// A share of the jobs of a burst repeats the one before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "traces/workload_file.hpp"

namespace ukemi::traces {

struct WorkloadModel {
    struct Size {
        std::int32_t gpus = 1;
        double share = 0;
    };
    static constexpr std::size_t classes = 4;  // by GPUs: 1, up to 4, up to 8, more

    std::string name;
    std::vector<double> bursts_per_h;  // by hour of the day
    std::vector<double> burst_jobs;    // quantiles, from the least to the most
    std::vector<double> gap_s;         // within a burst
    std::vector<Size> sizes;
    double repeats =
        0;  // the share of jobs in a burst, after the first, that are as the one before
    std::vector<std::vector<double>> service_s;  // by class
};

// At least two hundred jobs of known service time, over at least two days; their clock's zero is
// midnight.
WorkloadModel fit_workload(std::span<const WorkloadRow> rows, std::string_view name);
// Those that come from `begin` on, on a clock of which that is zero, in the order of arrival.
// `rate`: how many times as many bursts.
std::vector<WorkloadRow> draw_workload(const WorkloadModel& model, std::uint64_t seed,
                                       Duration begin, Duration length, double rate);

WorkloadModel read_workload_model(const std::filesystem::path& file);
std::string to_json(const WorkloadModel& model);

// The largest difference between two distribution functions (Kolmogorov and Smirnov), in the mean
// over draws of the length of what was kept back.
struct WorkloadDistance {
    std::string_view quantity;
    double fitted = 0;
    double naive = 0;  // Poisson arrivals at the mean rate, exponential times of the mean
};
struct WorkloadCheck {
    std::size_t fitted_jobs = 0;  // of the first 70 % of the time
    std::size_t kept_jobs = 0;    // of the rest
    std::vector<WorkloadDistance> distances;
};
WorkloadCheck check_workload_fit(std::span<const WorkloadRow> rows);

}  // namespace ukemi::traces
