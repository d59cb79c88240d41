// world.hpp — one simulated run: a job and its Controller on a recorded market.
//
// Give it a market, a job and policies; run() plays events in their total order until the work is
// done or the run gives up. The world does what the Plan says (asks for instances, releases them,
// forms the training group, saves) and what the market does to it; it decides nothing.
//
// A change of Plan is carried out at a step boundary; if an instance is lost before that, the
// change is discarded and the policies are asked again. Machines that a Plan no longer wants keep
// training until enough of their replacements are there, and save first if nobody else holds the
// model. One World is one run on one thread; equal inputs give equal event hashes.
//
// What trains is a Trainer: a simulated one by default. With a live one the same World rules over
// real workers: its market, its fleet, its questions to the policies are the very same code.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "policies/controller.hpp"
#include "records/run_result.hpp"
#include "sim/engine/event.hpp"
#include "sim/job/group.hpp"
#include "sim/job/group_change.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/job/pipeline_group.hpp"
#include "sim/job/run_timeline.hpp"
#include "sim/job/trainer.hpp"
#include "sim/market/fleet.hpp"
#include "sim/market/market.hpp"
#include "sim/market/zone_watch.hpp"

namespace ukemi::sim {

// Makes what trains in a World, out of what the World owns and keeps alive.
using MakeTrainer = std::function<std::unique_ptr<Trainer>(
    policies::Controller& controller, records::Ledger& ledger, RunQueue& queue)>;

// Somebody wanted it no longer.
class RunStopped : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct WorldSetup {
    const MarketData* market = nullptr;  // prepared; outlives the world
    const JobSpec* job = nullptr;        // outlives the world
    std::vector<std::unique_ptr<policies::Policy>> policies;
    bool oracle = false;
    Provider* provider = nullptr;  // asked for machines in place of the market; outlives the world
    std::optional<std::int32_t> places;  // that a zone has until it is told: see CapacityTold
    policies::Capabilities
        capabilities;          // simulated_capabilities, unless a MakeTrainer says otherwise
    MakeTrainer make_trainer;  // empty: a simulated group
    std::uint64_t seed = 0;
    bool keep_timeline = false;
    policies::ControllerLog* log = nullptr;
    // Called for every event, with its line for an events.jsonl or a golden log.
    std::function<void(Instant, Phase, const Event&)> on_event;
    std::function<bool()> stopped;  // every 1024 events: true ends the run with RunStopped
};

// What the simulated market can turn: here, and at most.
policies::Capabilities simulated_capabilities(const MarketData& market, const JobSpec& job);
policies::KnobSet simulated_knobs();

class World final : private GroupKeeper {
public:
    explicit World(WorldSetup setup);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    records::RunResult run();  // once
    // The same in pieces, for somebody who lends the job its machines and has more to move on:
    // begin, play all that is due whenever it is, and the result once it is over.
    void begin();
    bool is_over() const { return ended_; }
    Instant next_at();             // of what is to come; never() if nothing is
    void play_until(Instant now);  // and at it
    records::RunResult end();      // also of a job that is not over
    void tell(Instant now, const Event& news) { queue_.schedule(now, Phase::environment, news); }
    std::span<const Instance> machines() const { return fleet_.instances(); }
    const policies::Plan& plan() const { return controller_.plan(); }
    // What the job expects of itself at a moment until which all was played: how long the rest of
    // the work takes so many machines. A long time for fewer than it needs.
    Duration work_left(Instant now, std::int32_t workers);
    policies::JobPhase phase() const { return trainer_->phase(); }
    // After run() has thrown: what was counted until then. The cost is what the meters show; held
    // time and its causes are of instances that were given back already.
    records::RunResult broken_off();
    // In the midst of a run: what it would come to if all machines were given back at `now`, or at
    // the World's present moment if that is later. What the group has done since the ledger was
    // last told counts as `cause`; a checkpoint that the job waits for counts as made.
    records::RunResult so_far(records::Cause cause, Instant now) const;
    Dollars spent_by(Instant now) const;  // what the meters show
    std::size_t bytes_held() const;       // by what grows: events, instances, leases, the timeline

private:
    void play_next();

    // Events (world_events.cpp).
    void handle(const InstanceReady& event);
    void handle(const InstanceLost& event);
    void handle(const InstanceRecalled& event);
    void handle(const TransitionEnded&);
    void handle(const CheckpointDue&);
    void handle(const CheckpointEnded&);
    void handle(const WorkFinished&);
    void handle(const PlanDue&);
    void handle(const ClockTicked&);
    void handle(const AskedAgain&);
    void handle(const Settled&);
    void handle(const GaveUp&);
    void handle(const WorkerStarted& event);
    void handle(const WorkerFailed& event);
    void handle(const PlanAgreed&);
    void handle(const StepReached&);
    void handle(const PhaseBegan&);
    void handle(const MeetingOver& event);
    // What the market does, and what that means for the job.
    template <class MarketEvent>
        requires requires(ZoneWatch& zones, const MarketEvent& event) { zones.see(event); }
    void handle(const MarketEvent& event) {
        if (const auto news = zones_.see(event)) heed(*news);
    }
    void heed(const ZoneNews& news);

    // Membership (world_fleet.cpp).
    void acquire();               // launches what the Plan wants and the market gives
    void check_launches() const;  // throws RunLimitReached
    void check_questions();       // so does this
    void swap_fleets();           // releases what retires, once that may be
    void lose(InstanceId id);     // it is gone, and with it what it was doing
    void model_stays_where_it_is();
    std::optional<ZoneId> model_kept_at() const;  // where a checkpoint of it is
    void release_all();
    void forget_model();  // all copies of it are gone
    void resume_running();
    Instant model_lost_at() const;  // by what is announced; never() if it will survive
    void save_before_loss();
    bool unsaved() const { return controller_.samples_done() > trainer_->samples_safe(); }

    // Transitions (world_transitions.cpp).
    void reconcile();  // at a boundary: makes the training group what the fleet allows
    void disband() override;
    void release(InstanceId id, bool lost);
    void start_worker(Instance& instance);
    void end_spawn(Instance& instance);
    void reattach();
    void form(std::vector<Instance*>& group) override;
    void gather(std::span<Instance* const> called, const records::PhaseTimes& phases) override;
    void list_members(std::span<Instance* const> group);
    void begin_transition(const records::PhaseTimes& phases, bool provisional);
    void begin_drain();
    void end_drain();  // if one is under way
    policies::TransitionPhase transition_phase() const;

    // Decisions (world.cpp).
    void note(policies::EventKind kind);  // something happened that policies may want to look at
    void observe();
    void show_ages();
    void ask(policies::ControlEvent event);
    void commit_at_boundary();
    void commit(const policies::Plan& plan);
    bool committed_just_now(const policies::Plan& plan);
    void discard_pending(std::string_view why);
    void schedule_ask_again();
    void ask_step_hooks();  // those that are due, one after the other, as far as it can
    void go_on_after_hooks();
    void finish_work();
    bool is_stuck();  // nothing that is still to come can bring the run on
    void end_run(bool finished);
    std::string why_unfinished() const;
    void record_timeline();
    records::RunResult result();
    void count(records::RunResult& result) const;  // what happened

    WorldSetup setup_;
    const JobSpec& job_;
    GroupRules rules_;
    TransitionCosts change_costs_;
    RunQueue queue_;
    SpotMarket market_;
    MarketOracle oracle_;
    records::Ledger ledger_;
    policies::Controller controller_;
    Fleet fleet_;
    ZoneWatch zones_;
    std::unique_ptr<Trainer> trainer_;
    std::optional<PipelineGroup> pipelines_;  // of a job that has them
    std::optional<RunTimeline> timeline_;     // where one is kept
    policies::Observation seen_;
    EventHash hash_;

    std::optional<ZoneId> model_at_;            // where it is while no instance holds it
    Dollars egress_;                            // paid for moving it
    std::vector<Price> last_bids_;              // by zone, of the last line there
    std::vector<policies::Plan> plans_of_now_;  // committed at this very instant
    Instant plans_of_now_at_;
    std::vector<std::int32_t> room_;           // kept for its memory
    std::vector<InstanceId> members_ids_;      // kept for its memory
    std::vector<std::int32_t> member_speeds_;  // kept for its memory
    PhaseMeter meter_;
    bool drain_due_ = false;    // what was saved as machines were recalled takes its time later
    bool restart_due_ = false;  // a Plan that the program has to be started anew for
    std::optional<policies::Plan> pending_plan_;
    policies::EventKind pending_kind_ =
        policies::EventKind::none;  // the most urgent since the last question
    bool agreeing_ = false;         // the members are taking the pending Plan over
    bool settled_scheduled_ = false;
    RunQueue::Ticket ask_due_;
    Instant ask_due_at_ = Instant::never();
    std::uint64_t quiet_questions_ = 0;     // in a row, with nothing in between
    std::uint64_t events_at_question_ = 0;  // that there were at the last of them
    Instant first_quiet_question_;
    bool closing_ = false;  // the work is done, one more decision is carried out
    bool ended_ = false;
    bool finished_ = false;
    bool stuck_ = false;
    std::string unfinished_because_;
    bool quiet_tick_ = false;  // the last tick's question changed nothing, nor did anything since
    Instant finished_at_;
    std::int64_t ticks_ = 0;
    std::int64_t plans_ = 0;
    std::int64_t discarded_ = 0;
    std::int64_t failures_ = 0;
};

}  // namespace ukemi::sim
