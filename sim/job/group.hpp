// group.hpp — who trains together, and who of the fleet has the model.
//
// Functions of a fleet and of a job's rules; they change neither.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

bool unsettled(std::span<const Instance> fleet);  // somebody waits to join or to leave

// Those that would train now, at most so many: members before others, those without a notice before
// those with one, the oldest first. One of them has the model if anybody who could join has.
std::vector<Instance*> next_group(std::span<Instance> fleet, std::int32_t workers_max);
// Those that are to take their places again: they were in a group, kept their machines and are
// fewer than the places that nobody else takes.
std::vector<Instance*> next_to_reattach(std::span<Instance> fleet, std::int32_t workers_max);

// What the fleet's group has to do at a step boundary to become `group`.
enum class GroupOrder : std::uint8_t {
    none,     // it is right, or on its way
    disband,  // too few are left
    save,     // before a change that ends the whole program
    form,
};
struct GroupNow {
    policies::JobPhase phase = policies::JobPhase::waiting;
    bool restart_due = false;  // for a Plan, though the same machines go on
    bool unsaved = false;
};
GroupOrder next_order(std::span<const Instance> fleet, std::span<Instance* const> group,
                      const GroupRules& rules, const GroupNow& state);

}  // namespace ukemi::sim
