// job_world.hpp — where jobs really run: in place of work that is computed and of time that jumps
// to the next event.
#pragma once

#include <cstddef>
#include <memory>

#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

struct WorldMoment {
    Instant at;
    bool told_to_end = false;  // there and then: nothing happens after it
};

class JobWorld {
public:
    virtual ~JobWorld() = default;
    // A job has come, by its number in the order in which they come. Its `hold` only orders: what
    // it says of itself follows as it happens.
    virtual std::unique_ptr<JobWork> arrived(std::size_t number, const SharingJob& job) = 0;
    // All that was decided at one instant has been ordered. Waits until `next` (which may be
    // never()), until some job is over or until the run is told to end, and says which moment that
    // was.
    virtual WorldMoment wait(Instant next) = 0;
};

}  // namespace ukemi::sim
