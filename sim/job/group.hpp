// group.hpp — who trains together, and who of the fleet has the model.
//
// Functions of a fleet and of a job's rules; nothing here changes either.
#pragma once

#include <cstdint>
#include <span>

#include "sim/job/job_spec.hpp"
#include "sim/market/fleet.hpp"

namespace ukemi::sim {

// What a job says of its group.
struct GroupRules {
    std::int32_t workers_min = 1;  // fewer do not train
    // Who leaves takes the model of all along: every part of a sharded one is needed, and a program
    // that can only run as a whole ends with its first worker.
    bool falls_together = false;
    bool whole_program = false;  // it is started anew for any change
    bool saves_first = true;     // before a change that is planned; else what is unsaved is lost
};
GroupRules group_rules(const JobSpec& job);

bool state_held(std::span<const Instance> fleet);  // somebody has the present model
// When the model will be lost for good by what is announced; never() if it will survive. One copy
// of a replicated model is enough; of a sharded one every part is needed.
Instant state_lost_at(std::span<const Instance> fleet, const GroupRules& rules);

}  // namespace ukemi::sim
