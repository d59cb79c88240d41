// crew_state.hpp — what a Crew remembers: its workers, its group, and the change under way.
//
// Only `poll` reads sockets and looks at clocks, and all state changes there or in the owner's
// calls; so whatever the owner sees in one batch of events is what was so when it returned. The
// owner may therefore ask for something that a later event of the same batch has overtaken: such a
// request is answered by the event that tells why not, or by none if one has told already.
//
// The parts: crew.cpp (the owner's calls), crew_poll.cpp (sockets, processes, deadlines),
// crew_group.cpp (steps, holds, losses), crew_transition.cpp (joining, committing), crew_found.cpp
// (taking over from another coordinator).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/connection.hpp"
#include "runtime/crew.hpp"
#include "runtime/messages.hpp"
#include "runtime/rendezvous.hpp"
#include "runtime/worker_process.hpp"

namespace ukemi::runtime {

enum class Life : std::uint8_t {
    starting,  // no Hello yet
    loading,   // no Ready yet
    ready,
    leaving,
    doomed,  // it will be reaped soon, whether it has ended or was killed
};

// A program on another machine that starts workers there for us.
struct AgentLink {
    Connection connection;
    std::string name;
    int slots = 0;
    Moment heard;  // last frame
    bool noticed = false;
    bool listed = false;  // it has said which workers it has
};

// A worker's process that an agent has.
class AgentBody;

struct Worker {
    Life life = Life::starting;
    std::uint32_t number = 0;  // by which itself and its agent know it
    bool claimed = true;       // by spawn(); one that was found is nobody's until then
    std::uint64_t asked = 0;   // the inquiry by which a found one says where it stands
    std::uint64_t epoch = 0;   // of the last group of a found one
    std::int64_t position = 0;
    std::uint64_t replica_digest = 0;
    std::vector<PastStep> past;  // that nobody has heard of
    std::unique_ptr<WorkerBody> process;
    std::optional<std::size_t> host;  // of setup.remote; `process` is then the remote shell
    std::uint32_t slot = 0;           // of its machine, as long as its process is there
    std::optional<std::uint32_t> agent;
    AgentBody* body = nullptr;  // `process` of one of an agent
    std::optional<Connection> connection;
    Moment born;
    Moment heard;                     // last frame
    Moment deadline = Moment::max();  // of starting and loading, of leaving, of a doomed one's end
    Activity activity;
    std::string doom;       // why it counts as gone
    bool killed = false;    // by us, for that reason: the process's own end says nothing then
    bool expected = false;  // its end
    bool host_gone = false;

    // What it holds, as far as is known. A holder's replica is that before step `step`.
    bool holds_state = false;
    std::int64_t step = 0;
    bool can_undo = false;

    std::uint64_t standing_order = 0;  // of the Run after which it stands
    std::int64_t standing_step = 0;
    std::uint64_t answered = 0;  // the last inquiry that it has answered
};

enum class GroupPhase : std::uint8_t { none, held, training, broken };

struct Group {
    GroupPhase phase = GroupPhase::none;
    std::uint64_t epoch = 0;
    std::vector<InstanceId> members;  // by rank; some may be gone
    policies::Plan plan;
    std::uint64_t plan_digest = 0;
    std::int64_t step = 0;  // the first that is not committed
    std::int64_t position = 0;
    std::int64_t limit = 0;
    std::uint64_t order = 0;
    std::uint32_t hold = 0;  // requested, and not yet reached if above holds_done
    std::uint32_t holds_done = 0;
    std::map<std::int64_t, PastStep> past;  // finished by somebody, not yet by all
    bool first_step_done = false;           // since it was entered
    // While it is broken:
    std::uint64_t inquiry = 0;
    Moment answers_due = Moment::max();
    std::optional<Moment> culprit_due;  // nobody is known to be dead; by then somebody must be
    std::map<InstanceId, int> suspected;
    std::string complaint;  // what the first complaint was
};

enum class Stage : std::uint8_t { settling, connecting, entering, failing };

// A transition on its way.
struct Attempt {
    std::uint64_t number = 0;
    std::uint64_t epoch = 0;
    Stage stage = Stage::settling;
    std::vector<InstanceId> members;
    policies::Plan plan;
    std::uint64_t plan_digest = 0;
    std::filesystem::path checkpoint;
    bool group_changed = true;
    std::int64_t step = -1;
    Moment begun;
    Moment deadline;
    std::map<InstanceId, ByteString> addresses;
    std::map<InstanceId, Entered> entered;
    // In what the members, who have all entered, are not alike; empty if in nothing.
    std::string disagreement() const;
    // When it must fail, but whose fault it is must show first:
    std::string why;
    std::map<InstanceId, int> suspected;
    std::set<InstanceId> refused;  // those who have said that they cannot enter
};

struct Saving {
    std::uint64_t number = 0;
    InstanceId worker{};
    std::filesystem::path file;
    Moment deadline;
};

struct Crew::State {
    explicit State(CrewSetup given);

    // crew_poll.cpp
    void pump(Moment until);
    bool wait_for_input(Moment until);
    void greet(Door::Guest guest, Moment now);
    void read_from(InstanceId id, Moment now);
    void handle(InstanceId id, const Message& message, Moment now);
    void reap(Moment now);
    void check_deadlines(Moment now);
    void check_worker_deadlines(InstanceId id, Worker& worker, Moment now);
    Moment next_deadline() const;
    void ping(Moment now);

    // crew_agents.cpp
    void welcome(const AgentHello& hello, Connection connection, Moment now);
    void read_from_agent(std::uint32_t agent, Moment now);
    void handle_agent(std::uint32_t agent, const Message& message);
    void worker_ended(std::uint32_t agent, const WorkerEnded& message);
    void agent_noticed(std::uint32_t agent, const AgentNotice& message);
    void agent_has(std::uint32_t agent, const AgentWorkers& message);
    void drop_agent(std::uint32_t agent, const std::string& why);
    void look_after_agents(Moment now);
    std::optional<std::uint32_t> agent_with_room() const;
    std::ptrdiff_t workers_of(std::uint32_t agent) const;
    void tell_agent(std::uint32_t agent, const Message& message);
    std::string start_on_agent(Worker& worker, std::optional<std::uint32_t> agent);
    void dismiss_agents();

    // crew_found.cpp: the workers of a coordinator before this one.
    std::uint32_t term() const { return setup.agents ? setup.agents->term : 0; }
    std::uint64_t epochs_before() const { return std::uint64_t{term()} << 32U; }  // of this one
    std::uint32_t number_of(InstanceId id) const;
    std::optional<InstanceId> worker_with(std::uint32_t number) const;
    void find_worker(std::uint32_t agent, std::uint32_t number, Moment now);
    Tenure tenure() const;
    void introduce(InstanceId id);
    void found_stands(InstanceId id, const Status& message);
    bool claim(InstanceId id);
    void replaced(const Superseded& by);
    bool expects_somebody(std::span<const std::string> names) const;
    void report_past(const Worker& of, std::int64_t from);

    // Workers. `condemn` kills one; `await_end` gives it a moment to end by itself. Both count it
    // as gone at once, and break its group; its WorkerDied comes when it is reaped.
    ProcessOrder order_for(const Worker& worker) const;
    std::uint32_t free_slot(const Worker& worker) const;  // of its host or agent
    std::optional<std::size_t> host_with_room() const;
    Worker* find(InstanceId id);
    bool alive(InstanceId id);  // and not about to end
    void tell(InstanceId id, const Message& message);
    void condemn(InstanceId id, std::string why);
    void await_end(InstanceId id, std::string why);
    void forget(InstanceId id, const std::string& how);
    std::string sentence(const Worker& worker) const;  // "it was computing step 17"

    // crew_group.cpp
    bool is_member(InstanceId id) const;
    std::vector<InstanceId> survivors();
    void step_finished(InstanceId id, const StepFinished& message);
    void commit_steps();
    void standing(InstanceId id, const Standing& message);
    void check_standing();
    void send_run(std::int64_t limit);
    void step_failed(InstanceId id, const StepFailed& message);
    void status(InstanceId id, const Status& message);
    void break_group(std::string complaint, bool somebody_died);
    void settle();  // once all survivors have answered
    bool settled();
    void find_culprit(Moment now);
    void commit_step(std::int64_t step);
    void saved(InstanceId id, const Saved& message);
    void not_saved(const std::string& why);

    // crew_transition.cpp
    void progress_attempt();
    void launch_attempt();
    std::string choose_base(Attempt& attempt);
    void own_address(InstanceId id, const OwnAddress& message);
    void entered(InstanceId id, const Entered& message);
    void not_entered(InstanceId id, const NotEntered& message);
    void commit_attempt();
    void fail_attempt(std::string why);
    void fail_attempt_when_known(std::string why);
    void attempt_overdue();
    std::vector<InstanceId> late_members();

    CrewSetup setup;
    std::string training;  // the spec as text
    Door door;
    std::map<std::uint32_t, AgentLink> agents;
    std::uint32_t agents_so_far = 0;
    std::map<InstanceId, Worker> workers;  // after the agents, whom they tell when they end
    std::set<InstanceId> used;
    Group group;
    std::optional<Attempt> attempt;
    std::optional<Saving> saving;
    std::uint64_t attempts = 0;
    std::uint64_t inquiries = 0;
    std::uint64_t savings = 0;
    std::vector<std::filesystem::path> checkpoints;  // written by this Crew, the oldest first
    std::vector<CrewEvent> events;
    Moment pumped;  // end of the last look
    Moment pinged;
    bool interrupted = false;
    std::uint64_t coordinator = 0;  // drawn
    bool is_replaced = false;
    std::int64_t found_from = 0;  // the found ones tell of their steps from this one on
    bool found_are_over = false;  // who comes now is too late
};

}  // namespace ukemi::runtime
