// time_alone.hpp — how long a job takes when nobody else is there.
#pragma once

#include <optional>

#include "sim/jobs/schedule_run.hpp"

namespace ukemi::sim {

// On the GPUs that it asks for. Its service time; of a measured application the time from its first
// start to its end in rounds, one restart included, and nothing where tables lack what it asks for.
std::optional<Duration> time_alone(const SharedCluster& cluster, Duration round,
                                   const SharingJob& job);

}  // namespace ukemi::sim
