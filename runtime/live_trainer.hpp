// live_trainer.hpp — real worker processes as the training group of a World.
//
// The World's orders become orders to a Crew, and what the crew reports becomes events of the
// World's queue, at the moment of the live clock at which they are taken up. Orders that need time
// (a hold, an agreement, a transition, a checkpoint) are under way until the event that ends them;
// meanwhile the group is not at a boundary. All of it runs on the World's one thread, in wait().
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/controller.hpp"
#include "records/ledger.hpp"
#include "runtime/command_provider.hpp"
#include "runtime/crew.hpp"
#include "runtime/job_share.hpp"
#include "runtime/live_clock.hpp"
#include "runtime/live_deaths.hpp"
#include "runtime/notices/notice_source.hpp"
#include "runtime/run_journal.hpp"
#include "sim/engine/event.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/job/trainer.hpp"

namespace ukemi::runtime {

// What happened to a live run besides what the World keeps.
struct LiveRecord {
    struct Step {  // one committed step
        std::int64_t step = 0;
        std::int32_t workers = 0;
        std::int32_t learners = 1;  // on each
        std::int64_t samples = 0;   // of the whole job, after it
        Instant at;
        kernels::StepReport report;
    };
    struct Transition {
        Instant at;  // its end
        std::int32_t workers = 0;
        std::int32_t learners = 1;  // of the Plan under which the group goes on
        bool group_changed = false;
        std::chrono::nanoseconds rendezvous{};
        std::chrono::nanoseconds state_transfer{};
        std::chrono::nanoseconds total{};
        std::string exchange;  // what carries gradients, where there is a choice
    };
    std::vector<Step> steps;
    // That the last state has been through, also before this piece of the run: known at its end. A
    // step that a loss made vain is made again, or not, so there may be more in `steps`.
    std::int64_t steps_of_model = 0;
    std::vector<Transition> transitions;
    std::vector<std::chrono::nanoseconds> spawns;
    std::vector<std::chrono::nanoseconds> checkpoint_times;
    std::vector<std::int64_t> saved_samples;  // what each checkpoint holds
    std::vector<std::int64_t> saved_steps;
    std::vector<std::string> incidents;  // deaths and failed saves, a sentence each
    std::vector<std::string> agents;     // who joined, left and goes, and how many train then
    struct Takeover {                    // by a coordinator whose predecessor was gone
        std::uint32_t term = 0;
        Instant since;  // the last moment known of the one before
        Instant at;
        Dollars cost;  // of what was held meanwhile; its time is of the cause «transition»
    };
    std::vector<Takeover> takeovers;
    struct Link {  // between two hosts of the present group, as it was measured last
        std::array<InstanceId, 2> workers{};  // who measured it, one on each
        Instant at;
        std::chrono::nanoseconds round_trip{};
        double bytes_per_second = 0;
        std::int64_t times = 0;  // that it was measured, in this group
    };
    std::map<std::pair<std::int32_t, std::int32_t>, Link> links;  // by hosts, the lower first
    // How many of these were there when this coordinator took over.
    std::size_t incidents_before = 0;
    std::size_t agents_before = 0;
    std::filesystem::path last_checkpoint;
    std::int64_t last_saved_step = 0;  // it holds all steps before this one
    Instant last_saved_at;             // when that was heard, if this piece of the run has saved
    std::string stopped;               // why the run was ended from outside the World; mostly empty
    struct Resumed {                   // it goes on from a checkpoint
        std::string from;              // its file
        std::filesystem::path folder;  // where that is
        std::int64_t steps = 0;        // that were done before, and are not in `steps`
        std::int64_t samples = 0;
        std::int64_t pieces = 0;  // before this one, that time and money are known of; 0: of none
        Duration time;
        Dollars cost;
    };
    std::optional<Resumed> resumed;
    bool failed = false;         // and that was: nobody could train
    bool account_fails = false;  // its time and money could not be written down
    bool replaced = false;       // another coordinator has the run by now
    std::uint64_t digest = 0;    // of the replica at the last change of group or Plan
    std::int64_t torn_steps = 0;
};

struct LiveSetup {
    CrewSetup crew;
    double time_scale = 1;
    std::filesystem::path resume_from;  // a checkpoint, or empty
    std::int64_t resume_samples = 0;    // what it holds
    std::int64_t resume_steps = 0;
    // Of the run's pieces before this one. The World's clock and the journal's are this one's.
    Duration earlier_time;
    Dollars earlier_cost;
    // Counts, from outside, how often the run was told to end. At the first time it finishes its
    // step and saves, within `stop_within` of wall time; at the second it ends at once.
    const std::atomic<int>* stop_requests = nullptr;
    std::chrono::milliseconds stop_within{20'000};
    // Whether this machine, with all workers on it, is announced to be lost: the World hears of it
    // as of any notice, and the run ends as if told to, `stop_within` before the machine does (at
    // once, if nobody knows when).
    std::function<std::optional<HostNotice>()> host_loss;
    // Of a run with agents: what happens is written there; both outlive the trainer. With a past
    // the run had another coordinator: it is lived through first, and then its workers are taken.
    RunJournal* journal = nullptr;
    RunPast* past = nullptr;
    std::chrono::nanoseconds passed{};  // of wall time, since the run began
    // With a past: it has been lived through, and nobody has heard of this coordinator yet.
    std::function<void()> on_past_relived;
    // Why another coordinator has the run by now, if one has.
    std::function<std::optional<std::string>()> lost_to;
    // What else is to be said on the way, once each.
    std::function<std::optional<std::string>()> remarks;
    // The names of the agents that are there, when they change.
    std::function<void(const std::vector<std::string>&)> on_agents;
    std::uint32_t zones = 1;  // of the market
    // Whom the World asks for machines, whose agents join; outlives the trainer.
    CommandProvider* provider = nullptr;
    // Of a cluster, which a scheduler gives it: what the market has; outlives the trainer. What the
    // job still holds beyond it `stop_within` after it shrank is taken from it.
    JobShare* share = nullptr;
    // Hard stops: the run has ended and saved before so much is spent, and before that moment.
    std::optional<Dollars> budget;
    std::function<Dollars(Instant)> spent_by;  // by all pieces
    std::optional<WorldTime> stop_at;
    std::chrono::milliseconds first_pause{100};          // see LiveDeaths
    std::function<LiveClock::Wall::time_point()> wall;   // see LiveClock
    std::function<void(const LiveRecord&)> on_progress;  // whenever the record has grown
};

class LiveTrainer final : public sim::Trainer {
public:
    LiveTrainer(const sim::JobSpec& job, LiveSetup setup, policies::Controller& controller,
                records::Ledger& ledger, sim::RunQueue& queue, LiveRecord& record);

    policies::JobPhase phase() const override { return phase_; }
    std::int32_t workers() const override { return workers_; }
    std::int64_t samples_safe() const override { return progress_.kept().samples; }
    Duration transition_remaining(Instant now) const override;
    std::int64_t checkpoints() const override { return progress_.checkpoints(); }
    std::int64_t transitions() const override { return transitions_; }
    sim::StepsMade steps_made() const override { return progress_.made(); }
    void observe(policies::Observation& seen) const override;

    void report(Instant) override {}  // steps are reported as they are committed
    bool at_boundary(Instant now) const override;
    void await_boundary(Instant now) override;
    bool agree(const policies::Plan& next, Instant now) override;

    void stop(Instant now) override;
    void begin_transition(const sim::TransitionOrder& order, Instant now) override;
    void begin_running(Instant now) override;
    void begin_checkpoint(Instant now) override;
    void save_before(Instant deadline, Instant now) override;
    void finish_checkpoint(Instant now) override;
    void finish(Instant now) override;
    void end(Instant now) override;
    void roll_back() override;

    bool start(InstanceId instance, Instant now) override;
    void leave(InstanceId instance, bool lost, Instant now) override;
    bool wait(std::optional<Instant> next_due) override;

    // Saves what those hold who have the present model, if it is not saved yet: whatever the crew
    // was about. Waits for it, within limits.
    void keep_model();
    bool relives() const { return relives_; }  // what its past says cannot be, if that throws
    bool machine_goes() const { return notice_.has_value(); }  // the one that all of this is on

private:
    // What the group is doing for us just now. Rejoining: members of a group that another
    // coordinator had form it again.
    enum class Group : std::uint8_t {
        none,
        held,
        stepping,
        holding,
        agreeing,
        entering,
        saving,
        rejoining
    };

    bool await_next();
    void take(const CrewEvent& event, Instant at);
    void take(const WorkerReady& event, Instant at);
    void take(const WorkerDied& event, Instant at);
    void take(const StepDone& event, Instant at);
    void take(const GroupHeld& event, Instant at);
    void take(const GroupEntered& event, Instant at);
    void take(const TransitionFailed& event, Instant at);
    void take(const CheckpointSaved& event, Instant at);
    void take(const CheckpointFailed& event, Instant at);
    void take(const AgentJoined& event, Instant at);
    void take(const AgentRefused& event, Instant at);
    void take(const AgentLeft& event, Instant at);
    void take(const AgentNoticed& event, Instant at);
    void take(const CrewReplaced& event, Instant at);
    bool goes_back(const TransitionFailed& event, Instant at);
    void enter_from_checkpoint();
    void tell_agents();
    void note_agents(Instant at, const std::string& what);
    void tell_places(Instant at);
    void take_provided(const AgentJoined& event, Instant at);
    bool take_reports();  // false: an event of the queue is due before the next report
    void note_common_steps(const GroupEntered& event);
    void note_links(const kernels::StepReport& report, Instant at);
    std::string note_of(Instant at, const std::string& what) const;
    void note_incident(Instant at, const std::string& what);
    void start_those_due();
    void take_place_of_absent(const AgentJoined& event);
    void tell_progress();
    void tell_end(Instant at);

    // Going on where another coordinator was (live_takeover.cpp).
    void write(const JournalRecord& record);
    template <class Order>
    void tell_crew(Order&& order) {  // unless the coordinator before has told it
        if (!absent_) std::forward<Order>(order)(crew_);
    }
    bool relive();
    void end_past();
    void relive(const Took& record);
    void relive(const SetOut& record);
    void relive(const WentOn&) {}
    void relive(const ToldEnd& record);
    void relive(const MachineAnswered& record);
    void relive(const MachineReturned& record);
    void relive(const TakenOver& record);
    void relive(const WentBack& record);
    void await_workers();
    void leave_past();
    void take_the_lead();
    void take_agents(Instant at);
    void adopt_workers();
    void rejoin();

    // Under a scheduler (live_share.cpp).
    void mind_share(Instant now);
    void report_share();
    std::int64_t steps_allowed() const;

    // Ending before the work is done (live_stop.cpp).
    void stop_because(const std::string& why);
    void fail_because(const std::string& why);
    bool must_stop();
    std::chrono::milliseconds told_to_stop();
    void mind_lease();
    void be_replaced(const std::string& why, Instant at);
    void hear_of_host(Instant now);
    void mind_limits();
    bool may_stop_now();
    bool hurried() const;
    void order_save();
    bool save_goes_on(const CrewEvent& event);
    void stand(Instant at);
    void resume(Instant now);
    void let_go();
    void order_hold();
    void settle(Instant now);
    void cancel_what_is_due();
    std::int64_t steps_left() const;

    const sim::JobSpec* job_;
    LiveSetup setup_;
    LiveClock clock_;
    policies::Controller* controller_;
    records::Ledger* ledger_;
    sim::RunQueue* queue_;
    LiveRecord* record_;
    Crew crew_;
    std::deque<CrewEvent> reports_;

    policies::JobPhase phase_ = policies::JobPhase::waiting;
    Group group_ = Group::none;
    std::int32_t workers_ = 0;
    std::int32_t stepping_workers_ = 0;  // of the group that made the last steps
    std::int32_t stepping_learners_ = 1;
    std::int32_t next_learners_ = 1;   // of the Plan that the crew was told last
    std::vector<InstanceId> members_;  // of the group that the crew has
    std::vector<InstanceId> holders_;  // alive, with the present model
    bool boundary_wanted_ = false;
    bool member_died_ = false;  // since the last order
    bool crew_stands_ = false;  // its group does, though it is not ours any more
    std::int64_t step_limit_ = 0;
    Instant expected_until_;
    sim::RunQueue::Ticket checkpoint_due_;
    sim::RunQueue::Ticket boundary_due_;

    sim::Progress progress_;
    std::optional<sim::SavedWork> saved_;  // by the checkpoint under way
    Instant running_since_;
    Instant last_step_at_;      // or the moment at which the group was let go
    Duration checkpoint_time_;  // the longest so far
    std::int64_t transitions_ = 0;
    int processes_ = 0;
    std::map<std::uint32_t, int> places_;           // of each agent that starts workers
    std::map<std::uint32_t, std::string> agents_;   // those that are there
    std::map<InstanceId, std::uint32_t> agent_of_;  // of a provider's machines
    std::set<InstanceId> machines_;                 // that the World holds
    ShareOrder share_;                              // that the World was told
    LiveClock::Wall::time_point share_taken_at_;    // what is held beyond it
    std::optional<HostNotice> notice_;              // to the machine that all of this is on
    LiveDeaths deaths_;
    std::map<InstanceId, LiveClock::Wall::time_point> to_start_;  // not before then
    kernels::StepReport last_report_;
    std::int32_t hosts_ = 0;  // of the present group, after its first step

    bool relives_ = false;  // the run's past
    bool absent_ = false;   // this coordinator: nobody hears what it orders
    Instant known_until_;   // the last moment of the past
    Dollars spent_before_;  // until then
    std::optional<Instant> taken_over_at_;
    policies::Plan agreed_plan_;             // that the members are asked to agree to
    std::set<std::uint32_t> agents_absent_;  // that the coordinator before had
    std::int32_t places_told_ = 0;

    bool stopping_ = false;  // the run is to end; then until when it has time
    bool ending_ = false;    // and the World has been told
    std::chrono::milliseconds stop_within_{};
    LiveClock::Wall::time_point stop_by_;
    bool model_kept_ = false;  // at the end, as far as that was possible
    int saves_left_ = 0;       // attempts
};

}  // namespace ukemi::runtime
