// event.hpp — everything that can happen in a simulated run, as small typed values.
//
// Values and not closures: an event can be printed, hashed into the run's fingerprint, compared,
// and handled in one exhaustive visit. Kinds are data: they appear in event logs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/ids.hpp"
#include "sim/engine/event_queue.hpp"

namespace ukemi::sim {

struct CapacityChanged {  // a zone can carry more or fewer spot instances from now on
    ZoneId zone;
};
struct PriceChanged {
    ZoneId zone;
};
struct InstanceReady {  // provisioned: held and paid from now on
    InstanceId instance;
};
struct InstanceLost {  // taken by the provider
    InstanceId instance;
};
struct TransitionEnded {};
struct CheckpointDue {};
struct CheckpointEnded {};
struct WorkFinished {};
struct PlanDue {};  // the step boundary that a proposed Plan waits for
struct ClockTicked {};
struct AskedAgain {};   // a policy wanted to be asked at this moment
struct Settled {};      // all that happens at this instant has happened: ask the policies
struct GaveUp {};       // the run has gone on for too long
struct WorkerStarted {  // the worker on an instance can join a group from now on
    InstanceId instance;
};
struct WorkerFailed {  // gone without an announcement: not the market's doing
    InstanceId instance;
};
struct PlanAgreed {};   // every member has taken over the Plan that was proposed
struct StepReached {};  // a step boundary to look at: for policies, or for what was learned
struct LaunchFailed {   // the provider had none to give after all
    InstanceId instance;
};
struct LifetimeOver {  // the provider lets no instance grow older: its loss is announced
    InstanceId instance;
};
struct ZoneGivesAgain {  // after a failed launch, or a while after a loss
    ZoneId zone;
};
struct PhaseBegan {};  // of a transition whose phases are told apart
struct MeetingOver {   // of machines in pipelines, at which they find their places
    bool of_all = false;
};
struct MachinesTaken {  // recorded ones of a zone: their losses are announced now
    ZoneId zone;
};
// Of a market that is no record, but happens: somebody says so just now.
struct CapacityTold {  // so many places, for either market
    ZoneId zone;
    std::int32_t capacity = 0;
};
struct PriceTold {  // of a spot machine
    ZoneId zone;
    Price price;
};
struct LossTold {  // a provider's notice
    InstanceId instance;
    Instant lost_at;
};
struct InstanceRecalled {  // by an owner who lends it, and lets the job save before
    InstanceId instance;
};

using Event =
    std::variant<CapacityChanged, PriceChanged, InstanceReady, InstanceLost, TransitionEnded,
                 CheckpointDue, CheckpointEnded, WorkFinished, PlanDue, ClockTicked, AskedAgain,
                 Settled, GaveUp, WorkerStarted, WorkerFailed, PlanAgreed, StepReached,
                 LaunchFailed, LifetimeOver, ZoneGivesAgain, PhaseBegan, MeetingOver, MachinesTaken,
                 CapacityTold, PriceTold, LossTold, InstanceRecalled>;

std::string_view event_kind(const Event& event);  // "capacity_changed", …
// The number that an event carries (a zone, an instance), or −1.
std::int64_t event_subject(const Event& event);

using RunQueue = EventQueue<Event>;

// The fingerprint of a run: every event in order, with its instant. Equal on every x86-64 machine,
// compiler and thread count for equal scenario, seed and commit. Where real weights are trained
// their bits are part of it, so that it belongs to a binary.
class EventHash {
public:
    void add(Instant at, Phase phase, const Event& event) {
        mix(static_cast<std::uint64_t>(at.raw()));
        mix(static_cast<std::uint64_t>(phase) << 40 |
            static_cast<std::uint64_t>(event.index()) << 32 |
            (static_cast<std::uint64_t>(event_subject(event)) & 0xffffffffU));
    }
    void add_number(std::int64_t number) { mix(static_cast<std::uint64_t>(number)); }
    std::string text() const;  // 16 hexadecimal digits

private:
    void mix(std::uint64_t word) {  // multiply and fold (the step of SplitMix64's finaliser)
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
        state_ ^= state_ >> 32;
    }
    std::uint64_t state_ = 0x243f6a8885a308d3U;
};

}  // namespace ukemi::sim
