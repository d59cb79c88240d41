// transition_costs.hpp — what a change of the training group costs, phase by phase.
//
// notice → drain or checkpoint → loss → spawn → rendezvous → state transfer → warm-up. Notices and
// losses are the market's, saving is the job's; the rest is here, for each kind of change and for
// groups of any size. What the rest of the group does meanwhile is the system's: it trains on while
// a worker is spawned (Or et al.), or stands still until everybody is there (KungFu); a change
// concerns those that come and go, or the whole program starts anew (checkpoint and restart). Every
// number here is an input: typed in from a source, or from a calibration.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "policies/job_profile.hpp"
#include "policies/time_by_size.hpp"
#include "records/transition_phases.hpp"

namespace ukemi::sim {

enum class GroupChange : std::uint8_t {
    start,   // nobody has the model: the first group, or one that begins from a checkpoint
    grow,    // somebody joins those that have it
    shrink,  // nobody does
};
inline constexpr std::size_t group_change_count = 3;
inline constexpr std::array<std::string_view, group_change_count> group_change_names{
    "start", "grow", "shrink"};

// Where a number comes from; nothing is computed with it.
enum class CostOrigin : std::uint8_t {
    none,      // nobody says anything of it: it takes no time
    input,     // typed into the scenario
    system,    // a row of transition_systems.hpp: an input, too, with its source
    measured,  // a calibration's file
};

struct ChangeCosts {  // the group stands still meanwhile
    policies::TimeBySize spawn;
    policies::TimeBySize rendezvous;
    policies::TimeBySize warm_up;
    CostOrigin spawn_from = CostOrigin::none;
    CostOrigin rendezvous_from = CostOrigin::none;
    CostOrigin warm_up_from = CostOrigin::none;
};

// The model goes to those that join over a network on which every machine has one link each way.
struct StateTransfer {
    Bytes size;
    BytesPerSecond bandwidth;  // of a link; zero: the transfer takes no time
    Duration latency;
    bool from_all = false;  // each holder sends every joiner a slice; else the first sends it all
};
// Over the network model (flow_network.hpp): flows share links fairly.
Duration state_transfer_time(const StateTransfer& transfer, std::int32_t holders,
                             std::int32_t joiners);

struct TransitionCosts {
    std::string system = "custom";  // whose costs they are (transition_systems.hpp)
    std::array<ChangeCosts, group_change_count> changes;
    Duration overlapped_spawn;  // until a worker can join, while the others train
    Duration reattach;          // the same for one that was in the group, and kept its machine
    bool whole_program =
        false;                 // any change or loss ends all workers; they start from what is safe
    bool saves_first = true;   // before a change that is planned; else what is unsaved is lost
    bool phases_known = true;  // else all that a change takes stands in its rendezvous
    StateTransfer transfer;
    CostOrigin overlapped_spawn_from = CostOrigin::none;
    CostOrigin reattach_from = CostOrigin::none;
    CostOrigin transfer_from = CostOrigin::none;
    CostOrigin whole_program_from = CostOrigin::none;
    CostOrigin saves_first_from = CostOrigin::none;
    std::string file;  // the calibration's, as the scenario names it; empty: none

    const ChangeCosts& of(GroupChange change) const {
        return changes[static_cast<std::size_t>(change)];
    }
};

// Where a profile's restart and resize are all that is known.
TransitionCosts undivided_costs(const policies::JobProfile& profile);

// Of one kind of change; none for phases that are not among its costs.
CostOrigin origin_of(const TransitionCosts& costs, GroupChange change,
                     policies::TransitionPhase phase);

// How long a group of that size stands still, its restore and its move between regions left out.
records::PhaseTimes phase_times(const TransitionCosts& costs, GroupChange change,
                                std::int32_t workers, std::int32_t holders);

}  // namespace ukemi::sim
