// measured_jobs.hpp — what live jobs turned out to be, as work of simulated ones: so that the same
// schedule can be simulated with it.
#pragma once

#include <vector>

#include "runtime/live_jobs.hpp"

namespace ukemi::runtime {

// The same job with its speed by number of workers, between changes of its group, and what a start
// took beside its steps, in the mean over all of its starts; the last one's end is part of that.
// Where it never had so many workers its speed is what the job says, scaled by what was measured.
// Nothing if it never made two steps on end.
std::optional<sim::SharingJob> measured_job(const sim::SharingJob& asked,
                                            const LiveJobRecord& record);

}  // namespace ukemi::runtime
