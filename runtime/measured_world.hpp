// measured_world.hpp — live jobs once more, in simulated time: they get on as was measured, and
// tell the scheduler what they told it then, which is what their scenario says of the work that is
// left.
#pragma once

#include <span>

#include "sim/jobs/job_world.hpp"

namespace ukemi::runtime {

class MeasuredWorld final : public sim::JobWorld {
public:
    // By number, as jobs come; outlives this.
    explicit MeasuredWorld(std::span<const sim::SharingJob> measured) : measured_(measured) {}

    std::unique_ptr<sim::JobWork> arrived(std::size_t number, const sim::SharingJob& job) override;
    sim::WorldMoment wait(Instant next) override;

private:
    std::span<const sim::SharingJob> measured_;
};

}  // namespace ukemi::runtime
