#include "runtime/live_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::runtime {

using WallTime = std::chrono::nanoseconds;

LiveTrainer::LiveTrainer(const sim::JobSpec& job, LiveSetup setup, policies::Controller& controller,
                         records::Ledger& ledger, sim::RunQueue& queue, LiveRecord& record)
    : job_(&job),
      setup_(std::move(setup)),
      clock_(setup_.time_scale, setup_.wall, setup_.passed),
      controller_(&controller),
      ledger_(&ledger),
      queue_(&queue),
      record_(&record),
      crew_(setup_.crew),
      deaths_(job.instances_max, setup_.first_pause),
      relives_(setup_.past != nullptr),
      absent_(relives_) {
    if (setup_.resume_from.empty()) return;
    controller_->resume_at(setup_.resume_samples, setup_.resume_steps);
    progress_.resume_at({setup_.resume_samples, setup_.resume_steps});
    record_->last_checkpoint = setup_.resume_from;
    record_->last_saved_step = setup_.resume_steps;
}

Duration LiveTrainer::transition_remaining(Instant now) const {
    const bool entering = phase_ == policies::JobPhase::transition && expected_until_ > now;
    return entering ? expected_until_ - now : Duration{};
}

void LiveTrainer::observe(policies::Observation& seen) const {
    seen.spent += setup_.earlier_cost;
    seen.earlier = setup_.earlier_time;
    seen.loss = last_report_.loss;
    seen.gradient.squared_norm = last_report_.squared_norm;
    seen.gradient.covariance_trace = last_report_.covariance_trace;
    seen.gradient.noise_scale = last_report_.noise_scale;
    seen.gradient.applied_squared_norm = last_report_.average_squared_norm;
    seen.exchange = {};
    seen.exchange.relative_error = last_report_.codec_error;
    for (const kernels::StepWord& word : last_report_.words) {
        policies::ExchangeView& slowest = seen.exchange;
        const auto slower = [&](Duration& most, std::int64_t ns) {
            most = std::max(most, clock_.scaled(WallTime(ns)));
        };
        slower(slowest.compute, word.compute_ns);
        slower(slowest.communication, word.communication_ns);
        slower(slowest.exposed, word.exposed_ns);
        slower(slowest.encoding, word.codec_ns);
        slowest.bytes = std::max(slowest.bytes, word.sent_bytes);
    }
    seen.worker_views.clear();
    for (const kernels::StepWord& word : last_report_.words) {
        if (word.rank >= members_.size()) continue;
        policies::WorkerView view;
        view.instance = members_[word.rank];
        view.compute = clock_.scaled(WallTime(word.compute_ns));
        view.exposed_communication = clock_.scaled(WallTime(word.exposed_ns));
        view.input_wait = clock_.scaled(WallTime(word.input_ns));
        view.step = view.compute + view.exposed_communication + view.input_wait;
        seen.worker_views.push_back(view);
    }
    std::ranges::sort(seen.worker_views, {}, &policies::WorkerView::instance);
    seen.links.clear();
    const auto hosts = static_cast<std::size_t>(hosts_);
    if (record_->links.size() < hosts * (hosts - 1) / 2) return;  // not yet all of them
    for (const auto& [ends, link] : record_->links) {
        seen.links.push_back({ends.first, ends.second, clock_.scaled(link.round_trip),
                              link.bytes_per_second / setup_.time_scale});
    }
}

// ---- boundaries -------------------------------------------------------------------------------

bool LiveTrainer::at_boundary(Instant) const {
    return group_ == Group::none || group_ == Group::held;
}

void LiveTrainer::await_boundary(Instant now) {
    if (at_boundary(now)) {
        boundary_wanted_ = false;
        queue_->cancel(boundary_due_);
        boundary_due_ = queue_->schedule(now, sim::Phase::completion, sim::PlanDue{});
        return;
    }
    boundary_wanted_ = true;
    if (group_ == Group::stepping) order_hold();  // what else is under way ends by itself
}

bool LiveTrainer::agree(const policies::Plan& next, Instant now) {
    INVARIANT(at_boundary(now));
    if (group_ == Group::none) return true;
    group_ = Group::agreeing;
    member_died_ = false;
    next_learners_ = next.learners_per_gpu;
    agreed_plan_ = next;
    tell_crew([&](Crew& crew) { crew.begin_transition(members_, next); });
    return false;
}

// ---- what the World orders --------------------------------------------------------------------

void LiveTrainer::settle(Instant now) {
    switch (phase_) {
        case policies::JobPhase::waiting: break;
        case policies::JobPhase::transition:
            ledger_->elapse(now, records::Cause::transition);
            break;
        case policies::JobPhase::running: {
            // Between two steps the group stands for an agreement; else a step is torn.
            const bool standing = group_ == Group::held || group_ == Group::agreeing;
            ledger_->elapse(now, standing ? records::Cause::transition : records::Cause::wasted);
            if (!standing) ++record_->torn_steps;
            progress_.ran(now - running_since_);
            running_since_ = now;
            break;
        }
        case policies::JobPhase::checkpointing:
            ledger_->elapse(now, records::Cause::checkpoint);
            break;
        case policies::JobPhase::finished: break;
    }
    ledger_->elapse(now, records::Cause::idle);  // nobody is a member, or the clock was just set
}

void LiveTrainer::cancel_what_is_due() { queue_->cancel(checkpoint_due_); }

// The group is ours no more; what is still reported of the order under way is of no use, and must
// not be taken for an answer to the next one.
void LiveTrainer::let_go() {
    crew_stands_ = group_ == Group::held;
    const bool busy = group_ != Group::none && group_ != Group::held;
    group_ = Group::none;
    if (absent_) return;
    if (busy) crew_.abandon();
    for (CrewEvent& event : crew_.poll(WallTime(0))) reports_.push_back(std::move(event));
    std::erase_if(reports_, [](const CrewEvent& event) {
        return std::holds_alternative<GroupHeld>(event) ||
               std::holds_alternative<GroupEntered>(event) ||
               std::holds_alternative<TransitionFailed>(event);
    });
}

void LiveTrainer::order_hold() {
    group_ = Group::holding;
    const bool stands_already = std::ranges::any_of(
        reports_, [](const CrewEvent& event) { return std::holds_alternative<GroupHeld>(event); });
    if (!stands_already) tell_crew([](Crew& crew) { crew.hold(); });
}

void LiveTrainer::stop(Instant now) {
    settle(now);
    cancel_what_is_due();
    let_go();
    phase_ = policies::JobPhase::waiting;
    workers_ = 0;
}

// Real machines are as fast as they are.
void LiveTrainer::begin_transition(const sim::TransitionOrder& order, Instant now) {
    INVARIANT(phase_ == policies::JobPhase::waiting && group_ == Group::none);
    settle(now);
    members_.assign(order.members.begin(), order.members.end());
    workers_ = static_cast<std::int32_t>(members_.size());
    phase_ = policies::JobPhase::transition;
    expected_until_ = now + records::sum_of(order.phases);
    group_ = Group::entering;
    crew_stands_ = member_died_ = false;
    next_learners_ = controller_->plan().learners_per_gpu;
    enter_from_checkpoint();
}

std::int64_t LiveTrainer::steps_left() const {
    return sim::steps_for(controller_->samples_total() - controller_->samples_done(),
                          policies::samples_per_step(controller_->plan(), workers_));
}

void LiveTrainer::begin_running(Instant now) {
    settle(now);
    cancel_what_is_due();
    phase_ = policies::JobPhase::running;
    running_since_ = now;
    std::int64_t steps = steps_left();
    if (const auto hook_in = controller_->steps_until_hook(workers_)) {
        steps = std::min(steps, *hook_in);
    }
    step_limit_ = controller_->steps_done() + steps;
    const auto rest = progress_.until_checkpoint(controller_->plan().checkpoint_interval);
    if (!rest) return;
    checkpoint_due_ = queue_->schedule(now + *rest, sim::Phase::completion, sim::CheckpointDue{});
}

void LiveTrainer::save_before(Instant deadline, Instant now) {
    if (phase_ != policies::JobPhase::running) return;
    const Duration takes = std::max(job_->profile.checkpoint, checkpoint_time_);
    const auto latest = sim::latest_save(deadline, takes, now);
    if (!latest) return;
    queue_->cancel(checkpoint_due_);
    checkpoint_due_ = queue_->schedule(*latest, sim::Phase::completion, sim::CheckpointDue{});
}

void LiveTrainer::begin_checkpoint(Instant now) {
    // A step in progress is finished first, and its time is the step's.
    if (group_ != Group::stepping && group_ != Group::holding) {
        settle(now);
    } else {
        progress_.ran(now - running_since_);
        running_since_ = now;
    }
    cancel_what_is_due();
    phase_ = policies::JobPhase::checkpointing;
    saved_.reset();
    switch (group_) {
        case Group::held:
            group_ = Group::saving;
            tell_crew([](Crew& crew) { crew.save(); });
            break;
        case Group::stepping:  // GroupHeld goes on from here
            order_hold();
            break;
        case Group::none:  // those that still have the model form a group, only to save it
            group_ = Group::entering;
            crew_stands_ = member_died_ = false;
            members_ = holders_;
            next_learners_ = controller_->plan().learners_per_gpu;
            tell_crew([&](Crew& crew) { crew.begin_transition(members_, controller_->plan()); });
            break;
        case Group::rejoining:
        case Group::holding:
        case Group::agreeing:
        case Group::entering:
        case Group::saving: break;  // and then it saves
    }
}

void LiveTrainer::finish_checkpoint(Instant now) {
    INVARIANT(phase_ == policies::JobPhase::checkpointing);
    settle(now);
    progress_.checkpoint_ended(saved_);
}

void LiveTrainer::finish(Instant now) {
    settle(now);
    cancel_what_is_due();
    let_go();
    phase_ = policies::JobPhase::finished;
    workers_ = 0;
    keep_model();
}

void LiveTrainer::roll_back() {
    INVARIANT(phase_ == policies::JobPhase::waiting);
    const auto kept = progress_.roll_back(controller_->samples_done());
    if (kept) controller_->rolled_back(kept->samples, kept->steps);
}

bool LiveTrainer::start(InstanceId instance, Instant) {
    ++processes_;
    machines_.insert(instance);
    to_start_[instance] = LiveClock::Wall::now() + deaths_.pause();
    start_those_due();
    return false;
}

void LiveTrainer::start_those_due() {
    if (absent_) return;
    const auto now = LiveClock::Wall::now();
    std::erase_if(to_start_, [&](const auto& one) {
        if (one.second > now) return false;
        const auto agent = agent_of_.find(one.first);
        crew_.spawn(one.first,
                    agent == agent_of_.end() ? std::nullopt : std::optional(agent->second));
        return true;
    });
}

void LiveTrainer::leave(InstanceId instance, bool lost, Instant) {
    std::erase(holders_, instance);
    machines_.erase(instance);
    agent_of_.erase(instance);
    if (to_start_.erase(instance) > 0) {
        --processes_;
        return;
    }
    tell_crew([&](Crew& crew) { lost ? crew.kill(instance) : crew.dismiss(instance); });
}

// ---- what the crew reports --------------------------------------------------------------------

// The group stands at a boundary: what was asked for meanwhile comes first.
void LiveTrainer::stand(Instant at) {
    group_ = Group::held;
    if (phase_ == policies::JobPhase::checkpointing) {
        group_ = Group::saving;
        tell_crew([](Crew& crew) { crew.save(); });
        return;
    }
    if (phase_ == policies::JobPhase::running) {
        if (steps_left() == 0) {
            queue_->schedule(at, sim::Phase::completion, sim::WorkFinished{});
        } else if (controller_->steps_done() >= step_limit_) {
            queue_->schedule(at, sim::Phase::completion, sim::StepReached{});
        }
    }
    if (boundary_wanted_) await_boundary(at);
}

void LiveTrainer::take(const WorkerReady& event, Instant at) {
    to_start_.erase(event.worker);  // by the coordinator before, if it is still there
    record_->spawns.push_back(event.spawn);
    queue_->schedule(at, sim::Phase::completion, sim::WorkerStarted{event.worker});
}

// The run's clock, which goes on where an earlier piece of it ended.
std::string LiveTrainer::note_of(Instant at, const std::string& what) const {
    return fmt::format("{:.3f} s: {}", to_seconds(at.since_start() + setup_.earlier_time), what);
}

void LiveTrainer::note_incident(Instant at, const std::string& what) {
    record_->incidents.push_back(note_of(at, what));
    tell_progress();
}

void LiveTrainer::take(const WorkerDied& event, Instant at) {
    --processes_;
    to_start_.erase(event.worker);
    std::erase(holders_, event.worker);
    if (event.was_member) member_died_ = true;
    if (event.expected) return;
    note_incident(at, fmt::format("worker {}: {}", index_of(event.worker), event.why));
    if (!event.host_gone) deaths_.died(event.worker);
    if (deaths_.hopeless()) {
        fail_because(
            fmt::format("{} workers in a row died, and nothing was won between; the last: {}",
                        deaths_.row(), event.why));
    }
    queue_->schedule(at, sim::Phase::environment, sim::WorkerFailed{event.worker});
}

void LiveTrainer::take(const StepDone& event, Instant at) {
    if (phase_ == policies::JobPhase::finished || event.step != controller_->steps_done()) return;
    // After a loss the survivors' last step may turn out to be everybody's; without survivors it
    // is of a model that is gone. The time of such a step is in the ledger already, as torn.
    const bool late = group_ != Group::stepping && group_ != Group::holding;
    if (late && holders_.empty()) return;
    const bool again = controller_->samples_done() < progress_.samples_most();
    controller_->uneven_steps_finished(1, event.position - controller_->samples_done());
    deaths_.step_made(members_, event.position > progress_.samples_most());
    progress_.reached(event.position);
    if (!late) {
        ledger_->elapse(at, again ? records::Cause::redone : records::Cause::useful);
        progress_.steps_made(1, at - last_step_at_, at);
        last_step_at_ = at;
    }
    last_report_ = event.report;
    note_links(event.report, at);
    record_->steps.push_back(
        {event.step, stepping_workers_, stepping_learners_, event.position, at, event.report});
}

void LiveTrainer::take(const GroupHeld&, Instant at) {
    if (group_ == Group::stepping || group_ == Group::holding) stand(at);
}

// Steps that all survivors have count, also if nobody came to say so.
void LiveTrainer::note_common_steps(const GroupEntered& event) {
    if (event.step > controller_->steps_done()) {
        controller_->uneven_steps_finished(event.step - controller_->steps_done(),
                                           event.position - controller_->samples_done());
    }
    INVARIANT(controller_->samples_done() == event.position);
    progress_.reached(event.position);
}

void LiveTrainer::take(const GroupEntered& event, Instant at) {
    const bool rejoined = group_ == Group::rejoining;
    if (group_ != Group::entering && group_ != Group::agreeing && !rejoined) {
        return;  // called off meanwhile
    }
    record_->transitions.push_back({at, workers_, next_learners_, event.group_changed,
                                    event.rendezvous, event.state_transfer, event.total,
                                    event.exchange});
    record_->digest = event.digest;
    if (event.group_changed) {
        hosts_ = 0;
        record_->links.clear();
    }
    const bool agreed = group_ == Group::agreeing;
    if (!agreed) {
        note_common_steps(event);
        holders_ = members_;
        if (!rejoined) last_report_.words.clear();  // they were of other members
    }
    if (agreed) {
        group_ = Group::held;
        queue_->schedule(at, sim::Phase::completion, sim::PlanAgreed{});
    } else if (!rejoined && phase_ == policies::JobPhase::transition) {
        group_ = Group::held;
        ++transitions_;
        if (setup_.crew.agents) note_agents(at, fmt::format("{} workers train", workers_));
        queue_->schedule(at, sim::Phase::completion, sim::TransitionEnded{});
    }
    // Of a successor, also where the one before had only asked for another Plan.
    const bool again = rejoined || (agreed && event.group_changed);
    if (again && setup_.crew.agents) note_agents(at, fmt::format("{} workers train", workers_));
    if (rejoined || phase_ == policies::JobPhase::checkpointing || boundary_wanted_) stand(at);
}

void LiveTrainer::take(const TransitionFailed& event, Instant) {
    const bool tries =
        group_ == Group::entering || group_ == Group::agreeing || group_ == Group::rejoining;
    if (!tries) return;  // called off meanwhile
    // After a death the World forms another group. Without one nothing would ever change.
    if (member_died_) return;
    group_ = group_ == Group::agreeing ? Group::held : Group::none;
    fail_because(fmt::format("no group could be formed: {}", event.why));
}

void LiveTrainer::note_agents(Instant at, const std::string& what) {
    record_->agents.push_back(note_of(at, what));
}

// What agents offer is what the market has, all of it in the first zone.
void LiveTrainer::tell_places(Instant at) {
    std::int32_t all = 0;
    for (const auto& [agent, places] : places_) all += places;
    if (std::exchange(places_told_, all) == all) return;  // as before
    queue_->schedule(at, sim::Phase::environment, sim::CapacityTold{ZoneId{0}, all});
}

void LiveTrainer::take(const AgentJoined& event, Instant at) {
    take_place_of_absent(event);
    const bool has_twin =
        std::ranges::any_of(agents_, [&](const auto& each) { return each.second == event.name; });
    note_agents(at, fmt::format("agent {} joined: {} slots{}", event.name, event.slots,
                                has_twin ? "; an agent of this name is there already" : ""));
    agents_[event.agent] = event.name;
    tell_agents();
    if (setup_.provider != nullptr) return take_provided(event, at);
    places_[event.agent] = event.slots;
    tell_places(at);
}

// Only machines that were asked for have a place in the run.
void LiveTrainer::take_provided(const AgentJoined& event, Instant at) {
    const auto instance = setup_.provider->joined(event.name, at);
    if (instance) {
        agent_of_[*instance] = event.agent;
    } else {
        note_agents(at,
                    fmt::format("agent {} is nobody whom the provider was asked for", event.name));
    }
}

void LiveTrainer::take(const AgentRefused& event, Instant at) {
    note_agents(at, fmt::format("an agent at {} is not let in: {}", event.host, event.why));
}

void LiveTrainer::take(const AgentLeft& event, Instant at) {
    note_agents(at, fmt::format("agent {} is gone: {}", event.name, event.why));
    agents_.erase(event.agent);
    agents_absent_.erase(event.agent);
    tell_agents();
    if (places_.erase(event.agent) > 0) tell_places(at);
}

void LiveTrainer::tell_agents() {
    if (!setup_.on_agents || relives_) return;
    std::vector<std::string> names;
    for (const auto& [agent, name] : agents_) names.push_back(name);
    setup_.on_agents(names);
}

void LiveTrainer::take(const CrewReplaced& event, Instant at) {
    be_replaced(fmt::format("another coordinator has this run, in term {}", event.term), at);
}

// Where nobody knows when, as soon as anything may.
void LiveTrainer::take(const AgentNoticed& event, Instant at) {
    note_agents(at, fmt::format("agent {}: {}", event.name, event.text));
    const Instant lost_at = at + clock_.scaled(event.left.value_or(setup_.stop_within));
    for (const InstanceId worker : event.workers) {
        queue_->schedule(at, sim::Phase::environment, sim::LossTold{worker, lost_at});
    }
    if (setup_.provider != nullptr) setup_.provider->noticed(event.name, lost_at, at);
    if (places_.erase(event.agent) > 0) tell_places(at);
}

void LiveTrainer::take(const CrewEvent& event, Instant at) {
    write(Took{at, event});
    std::visit([&](const auto& one) { take(one, at); }, event);
    tell_progress();
}

void LiveTrainer::tell_progress() {
    if (setup_.on_progress && !relives_) setup_.on_progress(*record_);
}

// ---- waiting ----------------------------------------------------------------------------------

bool LiveTrainer::take_reports() {
    while (!reports_.empty()) {
        const Instant at = std::max(clock_.now(), queue_->now());
        const auto due = queue_->next_at();
        if (due && *due <= at) return false;
        const CrewEvent event = std::move(reports_.front());
        reports_.pop_front();
        const auto* failed = std::get_if<TransitionFailed>(&event);
        if (failed != nullptr && goes_back(*failed, at)) continue;
        take(event, at);
    }
    return true;
}

void LiveTrainer::resume(Instant now) {
    if (phase_ != policies::JobPhase::running || group_ != Group::held) return;
    const std::int64_t allowed = steps_allowed();
    if (allowed == 0) return;
    last_step_at_ = std::max(now, queue_->now());
    write(SetOut{last_step_at_});
    ledger_->elapse(last_step_at_, records::Cause::transition);
    group_ = Group::stepping;
    stepping_workers_ = workers_;
    stepping_learners_ = controller_->plan().learners_per_gpu;
    const std::int64_t limit = std::min(step_limit_, controller_->steps_done() + allowed);
    tell_crew([&](Crew& crew) { crew.run_until(limit); });
}

bool LiveTrainer::wait(std::optional<Instant>) {
    if (absent_ && relive()) return true;
    const bool goes_on = await_next();
    if (goes_on) write(WentOn{queue_->next_at().value_or(Instant::never())});
    return goes_on;
}

bool LiveTrainer::await_next() {
    constexpr WallTime longest = std::chrono::milliseconds(100);
    for (;;) {
        if (!take_reports()) return true;
        if (setup_.provider != nullptr)
            setup_.provider->look(std::max(clock_.now(), queue_->now()));
        hear_of_host(std::max(clock_.now(), queue_->now()));
        mind_share(std::max(clock_.now(), queue_->now()));
        const auto due = queue_->next_at();
        const Instant now = clock_.now();
        if (ending_ || (due && *due <= now)) return true;
        if (!must_stop()) {
            resume(now);
        } else if (may_stop_now()) {
            tell_end(std::max(now, queue_->now()));
            return true;
        }
        start_those_due();
        const bool others_bring_machines = setup_.crew.agents || setup_.share != nullptr;
        if (!due && processes_ == 0 && !others_bring_machines) return false;
        if (!due || *due > std::max(now, queue_->now())) report_share();
        WallTime until_due = due ? clock_.wall(*due - now) : longest;
        for (const auto& [worker, start] : to_start_) {
            until_due = std::min<WallTime>(until_due, start - LiveClock::Wall::now());
        }
        for (CrewEvent& event : crew_.poll(std::clamp(until_due, WallTime(0), longest))) {
            reports_.push_back(std::move(event));
        }
    }
}

}  // namespace ukemi::runtime
