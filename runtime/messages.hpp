// messages.hpp — what coordinator, workers and agents say to each other, and its form on the wire.
//
// A frame is a length (u32: the bytes after it), a type (u8) and the fields of one struct in their
// order, little-endian; texts and lists carry their count as a u32. Decoding distrusts every byte:
// it never throws, allocates no more than the frame is long, and refuses unknown types, enumerators
// out of range and bytes left over. Both sides are the same program, so there is one version: a
// Hello of another one is refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/training_step.hpp"
#include "policies/plan.hpp"
#include "runtime/fault.hpp"
#include "runtime/wire.hpp"

namespace ukemi::runtime {

inline constexpr std::uint32_t protocol_version = 6;
// A stranger may send no more than a Hello needs before it has shown the secret.
inline constexpr std::size_t hello_bytes_max = 64;

using Secret = std::array<std::uint8_t, 32>;

enum class WorkerPhase : std::uint8_t {
    loading,          // the data set and the model
    idle,             // ready, not a member
    connecting,       // to its peers
    receiving_state,  // or sending it
    reading_checkpoint,
    standing,  // a member before its next step
    computing,
    exchanging,  // at least one collective is in flight
    saving,
};
std::string_view sentence_of(WorkerPhase phase);  // "computing", for "it was … step 17"

// What a worker is at, as its heartbeats tell it.
struct Activity {
    WorkerPhase phase = WorkerPhase::loading;
    std::int64_t step = 0;  // the one it computes or stands before
    // Collectives begun since it was started: of two ranks that wait for each other, the one that
    // has begun fewer is the one that the other waits for.
    std::uint64_t collectives = 0;
    friend bool operator==(const Activity&, const Activity&) = default;
};

// ---- a worker to its coordinator ----------------------------------------------------------------
struct Hello {  // the first frame of a connection
    std::uint32_t protocol = protocol_version;
    std::uint32_t worker = 0;
    std::int32_t process = 0;
    Secret secret{};
};
struct Ready {  // data and model are loaded
    std::uint64_t parameters = 0;
    std::int64_t samples_per_epoch = 0;
};
struct Heartbeat {
    Activity activity;
};
struct OwnAddress {
    std::uint64_t attempt = 0;
    ByteString address;
};
struct Entered {  // it would train on under the new Plan; nothing is valid before Commit
    std::uint64_t attempt = 0;
    std::uint64_t plan_version = 0;
    std::uint64_t plan_digest = 0;  // of the Plan that it decoded
    std::uint64_t replica_digest = 0;
    bool replicas_equal = false;  // they ought to be, if all members say so
    std::int64_t step = 0;        // it stands before it
    std::int64_t position = 0;
    std::int64_t rendezvous_ns = 0;
    std::int64_t state_transfer_ns = 0;
    std::string exchange;  // what carries gradients where there is a choice: "nccl", "sockets: why"
};
struct NotEntered {
    std::uint64_t attempt = 0;
    std::string why;
    bool peers_failed = false;  // for want of its peers; else for a reason of its own
    std::int32_t suspect = -1;  // rank that was waited for
};
struct StepFinished {
    std::uint64_t epoch = 0;
    std::int64_t step = 0;
    std::int64_t position = 0;                  // after it
    std::optional<kernels::StepReport> report;  // from rank 0
};
struct Standing {  // a member has reached its limit or a hold
    std::uint64_t epoch = 0;
    std::uint64_t order = 0;  // of the last Run that it has seen
    std::int64_t step = 0;
};
struct StepFailed {  // nothing of the step was applied
    std::uint64_t epoch = 0;
    std::int64_t step = 0;
    kernels::Outcome outcome = kernels::Outcome::ok;
    std::int32_t suspect = -1;
    bool plan_disagreement = false;
    std::uint64_t plan_version = 0;  // its own
    std::uint64_t plan_digest = 0;
};
struct PastStep {
    std::int64_t step = 0;
    std::int64_t position = 0;  // after it
    kernels::StepReport report;
};
struct Status {  // answers Abandon: it stands, and its communicator is closed
    std::uint64_t inquiry = 0;
    bool has_state = false;
    std::int64_t step = 0;  // it stands before it
    std::int64_t position = 0;
    bool can_undo = false;
    std::uint64_t replica_digest = 0;
    std::uint64_t epoch = 0;     // of the last group that it was a member of
    std::vector<PastStep> past;  // those asked for that it still knows
};
struct Saved {
    std::uint64_t number = 0;
    std::int64_t step = 0;
    std::int64_t position = 0;
    std::int64_t bytes = 0;
    std::int64_t time_ns = 0;
};
struct NotSaved {
    std::uint64_t number = 0;
    std::string why;
};
struct Trouble {  // it cannot go on and ends; the last frame
    std::string why;
};

// ---- the coordinator to a worker ----------------------------------------------------------------
struct Welcome {
    std::string training;  // training_spec_text
    std::int64_t heartbeat_ns = 0;
    std::int64_t collective_ns = 0;
    std::int64_t transition_ns = 0;
    std::int64_t coordinator_ns = 0;  // silence after which a worker ends itself
    bool allow_faults = false;
    std::int64_t link_steps = 0;  // StepSettings::link_steps
};
struct Transition {
    std::uint64_t attempt = 0;  // never used twice
    std::uint64_t epoch = 0;
    bool group_changed = false;  // false: the communicator stays, and all have the state
    std::string plan;            // plan_text
    std::uint64_t plan_digest = 0;
    std::vector<std::uint32_t> members;  // by rank
    std::vector<std::uint8_t> holders;   // by rank: 1 if it has the state
    std::uint32_t rank = 0;
    ByteString group_secret;  // for the connections among the members
    std::int64_t step = -1;   // holders that are past it undo one step; −1: nobody has the state
    std::string checkpoint;   // for rank 0 if there is no holder; empty: from the seed
};
struct Peers {
    std::uint64_t attempt = 0;
    std::vector<ByteString> addresses;  // by rank
};
struct Commit {
    std::uint64_t attempt = 0;
};
struct Discard {
    std::uint64_t attempt = 0;
};
struct Run {
    std::uint64_t epoch = 0;
    std::uint64_t order = 0;       // grows
    std::int64_t limit = 0;        // the step not to begin
    std::uint32_t holds_done = 0;  // hold requests up to this one are over
};
struct Hold {
    std::uint64_t epoch = 0;
    std::uint32_t number = 0;
};
struct Abandon {
    std::uint64_t epoch = 0;
    std::uint64_t inquiry = 0;
    std::int64_t past_from = 0;  // tell of finished steps from this one on
};
struct Save {
    std::uint64_t number = 0;
    std::string file;
};
struct Leave {};
struct Ping {};  // the coordinator is alive
struct Inject {
    Fault fault = Fault::close_sockets;
};

// ---- an agent to the coordinator ----------------------------------------------------------------
struct AgentHello {  // the first frame of a connection
    std::uint32_t protocol = protocol_version;
    std::uint32_t slots = 0;  // workers at once
    std::string name;         // at most 40 bytes
};
struct AgentBeat {};
struct WorkerEnded {
    std::uint32_t worker = 0;
    std::string how;
};
struct AgentNotice {  // its machine will be taken
    std::string text;
    bool has_time = false;
    std::int64_t left_ns = 0;
};

// ---- the coordinator to an agent ----------------------------------------------------------------
struct AgentWelcome {
    std::int64_t heartbeat_ns = 0;
};
struct StartWorker {
    std::uint32_t worker = 0;
    std::string arguments;   // of the agent's own program, one a line
    std::string invitation;  // text_of
};
struct EndWorker {
    std::uint32_t worker = 0;
};
struct Dismissal {};  // the run is over

// ---- when one coordinator follows another -------------------------------------------------------
// To a worker or an agent after its Welcome: whose orders these are. What has a run and has heard a
// higher term of it obeys no lower one, nor another coordinator of the same.
struct Tenure {
    std::string run;
    std::uint64_t term = 0;         // grows with each coordinator of the run
    std::uint64_t coordinator = 0;  // drawn by each
    std::int64_t rejoin_ns = 0;     // for so long it waits for the next one
    bool may_follow(const Tenure& before) const {
        if (before.run.empty() || run != before.run) return before.run.empty();
        return term > before.term || (term == before.term && coordinator == before.coordinator);
    }
};
struct AgentWorkers {  // an agent's, after its Welcome: those that it has, of this run
    std::string run;   // empty: none
    std::vector<std::uint32_t> workers;
};
struct Superseded {  // a worker's or an agent's: another coordinator has this run
    std::string run;
    std::uint64_t term = 0;
};

using Message =
    std::variant<Hello, Ready, Heartbeat, OwnAddress, Entered, NotEntered, StepFinished, Standing,
                 StepFailed, Status, Saved, NotSaved, Trouble, Welcome, Transition, Peers, Commit,
                 Discard, Run, Hold, Abandon, Save, Leave, Ping, Inject, AgentHello, AgentBeat,
                 WorkerEnded, AgentNotice, AgentWelcome, StartWorker, EndWorker, Dismissal, Tenure,
                 AgentWorkers, Superseded>;

// The whole frame, with its length. A message that does not fit into a frame breaks an invariant:
// what is sent is bounded by what this side holds.
ByteString encode(const Message& message);

struct Decoded {
    std::optional<Message> message;
    std::string problem;  // why there is none
};
// `frame` is what follows the length: the type and the fields.
Decoded decode(std::span<const std::uint8_t> frame);

}  // namespace ukemi::runtime
