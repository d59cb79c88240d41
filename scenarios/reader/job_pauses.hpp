// job_pauses.hpp — of jobs that share a cluster: when they stand still, and what of all this a
// scenario leaves out.
#pragma once

#include <memory>
#include <optional>

#include "scenarios/reader/schedule_scenario.hpp"

namespace ukemi::scenarios {

// "restart", "transition" and "checkpoint", of one job or of all.
struct JobPauses {
    std::optional<Duration> restart;
    std::shared_ptr<const sim::TransitionCosts> transition;
    sim::SaveRule saves;
};
JobPauses read_pauses(ConfigReader& section, const JobPauses& otherwise,
                      const IgnoredParts& ignored);
// `flat`: of an application that says it itself.
void set_pauses(const JobPauses& pauses, Duration flat, sim::SharingJob& job);

// "ignore": what the simulators of the published schedulers do not have.
IgnoredParts read_ignored(ConfigReader& root);
void leave_out(const IgnoredParts& ignored, ScheduleScenario& scenario);

}  // namespace ukemi::scenarios
