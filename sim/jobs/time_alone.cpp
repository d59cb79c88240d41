// time_alone.cpp — runs one job on an empty cluster.
#include "sim/jobs/time_alone.hpp"

#include <algorithm>

#include "base/input_error.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::sim {

namespace {

// The first group on which the job fits, alone.
SharedCluster first_group_for(const SharedCluster& cluster, std::int32_t gpus) {
    SharedCluster one;
    const auto fits = [&](const MachineGroup& group) { return group.gpus() >= gpus; };
    one.groups = {*std::ranges::find_if(cluster.groups, fits)};
    return one;
}

}  // namespace

std::optional<Duration> time_alone(const SharedCluster& cluster, Duration round,
                                   const SharingJob& job) {
    if (job.application == nullptr && !job.controlled) {
        return make_service_work(job)->remaining(job.arrival);
    }
    if (!job.recorded_batches.empty()) return std::nullopt;  // they are of another run
    SharingJob only = job;
    only.arrival = Instant::at(round);
    ConfigReader none = ConfigReader::from_text("{}", "fifo");
    const auto fifo = schedulers::find_scheduler("fifo")->make(none);
    try {
        const SharedCluster group = first_group_for(cluster, job.gpus);
        const ScheduleOutcome outcome = run_schedule({group, round, std::span(&only, 1)}, *fifo);
        if (!outcome.jobs.front().is_complete()) return std::nullopt;
        return outcome.end - only.arrival;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

}  // namespace ukemi::sim
