// group_change.hpp — what it takes to change a group: where the model comes from, how long each
// phase is, and what the phases beside the change itself have cost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "records/transition_phases.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/market/fleet.hpp"

namespace ukemi::sim {

std::optional<ZoneId> place_of_model(std::span<const Instance> fleet);  // of the oldest copy

// What the model's way to a zone costs: from the cheapest of the places that have it, else from
// `kept_at`; nothing if it is nowhere yet.
Move move_to(const MarketData& market, std::span<const Instance> fleet,
             std::optional<ZoneId> kept_at, ZoneId to);
// The same for a group: once to each of its regions, and to all at the same time.
Move move_of(const MarketData& market, std::span<const Instance> fleet,
             std::optional<ZoneId> kept_at, std::span<Instance* const> group);

// A worker's speed where it is, per mille of the job's profile.
std::int32_t speed_there(const MarketData& market, const Instance& instance);

struct Formation {  // of a group
    std::int32_t workers = 0;
    std::int32_t holders = 0;      // of the present model among them
    bool survivors = false;        // somebody has it, among them or not
    bool from_checkpoint = false;  // else the work begins at its beginning
    Duration move_time;            // between regions
};
records::PhaseTimes formation_times(const TransitionCosts& costs,
                                    const policies::JobProfile& profile,
                                    const Formation& formation);

// Counts the phases in which machines are busy for a change while no transition is under way.
class PhaseMeter {
public:
    bool draining() const { return drain_since_.has_value(); }
    // A checkpoint that something waits for: a change that comes next, or a loss. Its end, or that
    // of the group; nothing if none is under way.
    void drain_began(std::int32_t workers, Instant now);
    void drain_ended(Instant now);
    void spawn_ended(const Instance& instance, Instant now);  // its worker is there, or gone
    // An announced instance is gone; it knew of it for `notice` at most.
    void notice_ended(const Instance& instance, Duration notice, Instant now);
    records::PhaseCosts with(const records::PhaseCosts& of_transitions) const;

private:
    void add(policies::TransitionPhase phase, Duration standstill, Duration instance_time);

    records::PhaseCosts costs_{};
    std::optional<Instant> drain_since_;
    std::int32_t drain_workers_ = 0;
};

}  // namespace ukemi::sim
