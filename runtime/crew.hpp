// crew.hpp — the worker processes of one live job, seen from the coordinator.
//
// A Crew spawns workers, forms groups of them that train together, holds them at step boundaries,
// and carries a change through all members or none. It decides nothing: who joins, when to save and
// what to do after a loss is its owner's business. It is driven by one thread, which must live as
// long as it does (the workers die with that thread); `poll` is its only wait and returns what has
// happened. Nothing here throws for what a worker does: a dead, silent or misbehaving worker is a
// WorkerDied event that says why, and the process is gone by then.
//
// A step is committed when every member has finished it. When a member is lost, the survivors agree
// on the last step that all of them have (they differ by one at most, and a replica can undo one),
// and the next transition goes on from there. Membership epochs are never reused.
//
// Nothing changes but in `poll` and in the calls. What the owner asks for while it works through a
// batch of events may have been overtaken by a later one of them: run and hold do nothing in a
// group that has broken (its WorkerDied is in that batch), save and begin_transition answer with
// their failure. A transition of newcomers only is refused while a worker that is not among them
// has the state, unless a checkpoint is named.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/socket_address.hpp"
#include "kernels/socket_communicator.hpp"
#include "kernels/training_spec.hpp"
#include "kernels/training_step.hpp"
#include "policies/plan.hpp"
#include "runtime/fault.hpp"
#include "runtime/messages.hpp"
#include "runtime/worker_hosts.hpp"

namespace ukemi::kernels {
class ComputeBackend;
}

namespace ukemi::runtime {

struct CrewDeadlines {                             // wall time
    std::chrono::milliseconds spawn{20'000};       // from starting a process to its being ready
    std::chrono::milliseconds heartbeat{2'000};    // silence longer than this is a dead worker
    std::chrono::milliseconds collective{5'000};   // any wait inside a step
    std::chrono::milliseconds transition{10'000};  // of a group, from the order to «entered»
    std::chrono::milliseconds checkpoint{30'000};
    std::chrono::milliseconds farewell{2'000};  // from asking to leave to SIGKILL
    // A worker that hears nothing from its coordinator for so long ends itself. Any poll() tells
    // the workers; a coordinator that dies is noticed at once and needs no deadline.
    std::chrono::milliseconds coordinator{60'000};
};

struct AgentDoor {
    SocketAddress address;  // of this machine, with a port
    Secret secret{};
    // Which run this is, and the how-many-eth coordinator of it, from 1: its workers and agents
    // wait for the next one when this one is gone, and obey none before it (RunLease).
    std::string run;
    std::uint32_t term = 1;
};

struct CrewSetup {
    kernels::TrainingSpec training;
    std::filesystem::path worker_program;  // run as: worker_program worker_arguments…
    std::vector<std::string>
        worker_arguments;          // the rendezvous and the secret travel in the environment
    std::filesystem::path folder;  // for checkpoints; exists
    CrewDeadlines deadlines;
    // Where the workers find their coordinator: an address of this machine, in numbers. Nothing
    // listens beyond the loopback unless this says so.
    std::string listen = "127.0.0.1";
    RemoteStart remote;  // other machines, whose program is told `worker_arguments`
    // Workers of a script join as any other, by a program of ours beside each (script_relay.hpp).
    bool scripts_by_relay = false;
    // Where agents join, which have a secret from their user: then only they start workers.
    std::optional<AgentDoor> agents;
    std::vector<int> cores;       // who has place k runs on cores[k mod n]; empty: anywhere
    std::int64_t link_steps = 0;  // between hosts (StepSettings)
    bool allow_faults = false;    // tests: workers obey inject()
    int wake = -1;                // poll() also returns when this descriptor can be read
};

// What poll() reports. Times are wall times, for measurement.
struct WorkerReady {  // can become a member
    InstanceId worker;
    std::chrono::nanoseconds spawn;  // since spawn()
};
struct WorkerDied {  // whatever the reason; its process is gone. A dismissed worker's end, too.
    InstanceId worker;
    std::string why;  // "killed by signal 9", "no heartbeat for 2.1 s; it was computing step 17"
    bool expected = false;  // dismissed or killed by the owner
    bool was_member = false;
    bool host_gone = false;  // and its agent with it: the worker did nothing wrong
};
struct StepDone {                // every member has finished it: it is committed
    std::int64_t step;           // its number
    std::int64_t position;       // samples used so far, of the whole job
    kernels::StepReport report;  // as rank 0 had it; no words if all who had it are lost
    std::chrono::steady_clock::time_point at;
};
struct GroupHeld {  // every member stands before step `step`
    std::int64_t step;
};
struct GroupEntered {  // a transition is committed: all members agree and stand before `step`
    std::uint64_t epoch;
    PlanVersion version;
    std::int64_t step;
    std::int64_t position;
    std::uint64_t digest;                 // of the replica (of rank 0, if replicas may differ)
    bool group_changed;                   // false: only the Plan did
    std::chrono::nanoseconds rendezvous;  // parts of the wall time it took
    std::chrono::nanoseconds state_transfer;
    std::chrono::nanoseconds total;
    std::string exchange;  // as the first member says it (Entered)
};
struct TransitionFailed {  // nobody has entered; the members that are left stand and wait
    std::string why;       // a member's death has its own event before this one
};
struct CheckpointSaved {
    std::int64_t step;
    std::int64_t position;
    std::int64_t bytes;
    std::filesystem::path file;
    std::chrono::nanoseconds time;
};
struct CheckpointFailed {  // nothing is lost but the attempt; the older file stands
    std::string why;
};
struct AgentJoined {
    std::uint32_t agent;  // never used twice
    std::string name;
    int slots;  // workers that it offers to hold at once
};
struct AgentRefused {  // told of once a host
    std::string host;
    std::string why;
};
struct AgentLeft {  // its workers' deaths follow
    std::uint32_t agent;
    std::string name;
    std::string why;
};
struct AgentNoticed {  // its machine will be taken: no worker is started there any more
    std::uint32_t agent;
    std::string name;
    std::string text;
    std::optional<std::chrono::nanoseconds> left;  // until then; nothing: any moment
    std::vector<InstanceId> workers;               // that it has
};
struct CrewReplaced {  // another coordinator has this run: nobody obeys this one any more
    std::uint64_t term;
};
using CrewEvent = std::variant<WorkerReady, WorkerDied, StepDone, GroupHeld, GroupEntered,
                               TransitionFailed, CheckpointSaved, CheckpointFailed, AgentJoined,
                               AgentLeft, AgentNoticed, AgentRefused, CrewReplaced>;

// Workers that a coordinator before this one has left, and that have the model.
struct FoundWorkers {
    std::vector<InstanceId> holders;  // of the last group
    std::int64_t step = 0;            // the first that not all of them have made
    std::int64_t position = 0;        // samples before it
};

class Crew {
public:
    explicit Crew(CrewSetup setup);
    ~Crew();  // kills and reaps every worker
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // WorkerDied follows if no process can be made. Where there are agents, by that one, or else by
    // the first that has room; one that was found for this machine is taken before another starts.
    void spawn(InstanceId worker, std::optional<std::uint32_t> agent = {});
    void dismiss(InstanceId worker);  // not a member (any more): asked to leave, killed if it stays
    void kill(InstanceId worker);     // SIGKILL, now; a member's group is broken then
    int process_of(InstanceId worker) const;  // for tests and chaos; −1 if there is none
    // Where CrewSetup allows it: the worker does this to itself. No event of its own.
    void inject(InstanceId worker, Fault fault);

    // Of a run that had another coordinator, by whose word `step` is next and these agents were
    // there: whether more of them and of their workers may come, whether the worker of this machine
    // has, and which of `holders` have the model, none of them before that step; StepDone follows
    // for what they have made since. Before the first group. Those that nobody has adopted or
    // spawned are ended by end_found(), and those that come later.
    bool awaits_found(std::int64_t step, std::span<const std::string> agents);
    bool has_found(std::span<const InstanceId> any) const;
    bool adopt(InstanceId worker);  // it stands, and is ready
    FoundWorkers found(std::span<const InstanceId> holders, std::int64_t step);
    void end_found();
    // Another coordinator has the run: from now on nothing is ended here that may be that one's.
    void leave_to_another();

    // Starts a transition of the whole group to `members` (in the order of their ranks, all ready)
    // under `plan`. Allowed while no group trains: before the first, when held, when broken or
    // after abandon(). Members that have the state keep it (and undo a torn step); others get it
    // from the lowest rank that has; if nobody has, it is read from `checkpoint` or, if that is
    // empty, made from the seed. GroupEntered or TransitionFailed follows.
    void begin_transition(std::span<const InstanceId> members, const policies::Plan& plan,
                          const std::filesystem::path& checkpoint = {});
    // The present group stops where it is; a torn step is discarded. Its members stand and wait.
    void abandon();
    void run();  // a held or entered group trains, until hold() or the end
    // It shall not begin step `step` (from 0 at the job's start) nor any later one before run() is
    // called again with a later limit: GroupHeld follows when it stands there.
    void run_until(std::int64_t step);
    void hold();  // at the next boundary that all members agree on: GroupHeld follows
    // Those newer than this one are of no use: they do not count any more among the two that are
    // kept, and stay where they are.
    void forget_checkpoints_after(const std::filesystem::path& file);
    void save();  // a held group: rank 0 writes a checkpoint. CheckpointSaved or CheckpointFailed

    // Waits until something has happened, at most so long, and reports it in order.
    std::vector<CrewEvent> poll(std::chrono::nanoseconds timeout);

    struct State;  // of the parts of this folder

private:
    std::unique_ptr<State> state_;
};

// The whole life of a worker process (`ukemi worker`): connects to the coordinator named in the
// environment or on standard input, obeys it until told to stop or until it is gone, and computes
// by `backend`; one that refuses is trouble for the coordinator before the worker is ready. Returns
// an exit status.
enum class InvitedBy : std::uint8_t { environment, standard_input };
int run_worker(const kernels::ComputeBackend& backend, InvitedBy invited = InvitedBy::environment,
               kernels::Encryption encryption = kernels::Encryption::across_hosts);

}  // namespace ukemi::runtime
