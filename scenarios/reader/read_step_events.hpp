// read_step_events.hpp — what happens to links and workers while steps go on.
#pragma once

#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// The section "events" of a scenario whose topology and jobs have been read.
sim::StepEvents read_step_events(ConfigReader& root, const StepScenario& scenario);

}  // namespace ukemi::scenarios
