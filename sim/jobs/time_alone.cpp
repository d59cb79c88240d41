// time_alone.cpp — runs one job on an empty cluster.
#include "sim/jobs/time_alone.hpp"

#include "base/input_error.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::sim {

std::optional<Duration> time_alone(const SharedCluster& cluster, Duration round,
                                   const SharingJob& job) {
    if (job.application == nullptr) return make_service_work(job)->remaining(job.arrival);
    SharingJob only = job;
    only.arrival = Instant::at(round);
    ConfigReader none = ConfigReader::from_text("{}", "fifo");
    const auto fifo = schedulers::find_scheduler("fifo")->make(none);
    try {
        const ScheduleOutcome outcome = run_schedule({cluster, round, std::span(&only, 1)}, *fifo);
        return outcome.end - only.arrival;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

}  // namespace ukemi::sim
