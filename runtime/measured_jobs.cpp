#include "runtime/measured_jobs.hpp"

#include <algorithm>
#include <map>

namespace ukemi::runtime {

namespace {

struct Sum {
    double samples = 0;
    double time_s = 0;
};

// By the number of workers, between changes of the group.
void add_steps(const LiveRecord& record, std::map<std::int32_t, Sum>& sums) {
    auto change = record.transitions.begin();
    for (std::size_t i = 1; i < record.steps.size(); ++i) {
        const LiveRecord::Step& before = record.steps[i - 1];
        const LiveRecord::Step& step = record.steps[i];
        while (change != record.transitions.end() && change->at < before.at) ++change;
        const bool changed = change != record.transitions.end() && change->at <= step.at;
        if (changed || step.workers != before.workers || step.samples <= before.samples) continue;
        sums[step.workers].samples += static_cast<double>(step.samples - before.samples);
        sums[step.workers].time_s += to_seconds(step.at - before.at);
    }
}

// Samples in a second.
std::map<std::int32_t, double> measured_rates(const LiveJobRecord& record) {
    std::map<std::int32_t, Sum> sums;
    for (const LiveRun& run : record.runs) add_steps(run.record, sums);
    std::map<std::int32_t, double> rates;
    for (const auto& [workers, sum] : sums) {
        if (sum.time_s > 0) rates[workers] = sum.samples / sum.time_s;
    }
    return rates;
}

double speed_of(const sim::SharingJob& job, std::int32_t gpus) {
    const std::size_t row = std::min(static_cast<std::size_t>(gpus), job.speeds.size() - 1);
    return static_cast<double>(job.speeds[row]) / 1e6;
}

}  // namespace

std::optional<sim::SharingJob> measured_job(const sim::SharingJob& asked,
                                            const LiveJobRecord& record) {
    std::map<std::int32_t, double> rates = measured_rates(record);
    if (rates.empty()) return std::nullopt;
    if (!rates.contains(1))
        rates[1] = rates.begin()->second / speed_of(asked, rates.begin()->first);
    sim::SharingJob job = asked;
    const auto rate_on = [&](std::int32_t gpus) {
        const auto known = rates.find(gpus);
        return known != rates.end() ? known->second : rates[1] * speed_of(asked, gpus);
    };
    const auto samples = static_cast<double>(record.samples_total - record.samples_before);
    job.service = seconds(samples / rates[1]);
    for (std::size_t gpus = 1; gpus < job.speeds.size(); ++gpus) {
        const double speed = rate_on(static_cast<std::int32_t>(gpus)) / rates[1];
        job.speeds[gpus] = std::max<std::int64_t>(1, round_nearest(speed * 1e6));
    }
    double beside_s = 0;
    for (const LiveStint& stint : record.stints) {
        beside_s += to_seconds(stint.end - stint.begin);
        beside_s -= static_cast<double>(stint.samples) / rate_on(stint.gpus);
    }
    const auto starts = static_cast<double>(std::max<std::size_t>(record.stints.size(), 1));
    job.restart = seconds(std::max(0.0, beside_s / starts));
    return job;
}

}  // namespace ukemi::runtime
