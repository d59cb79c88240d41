// world.cpp — the run as a whole: the loop, and the questions to the policies.
#include "sim/job/world.hpp"

#include <algorithm>
#include <utility>

#include "policies/plan_fields.hpp"
#include "sim/job/orders.hpp"
#include "sim/job/training.hpp"
#include "sim/market/lease_bill.hpp"

namespace ukemi::sim {

namespace {

policies::ControllerSetup controller_setup(WorldSetup& setup, const MarketOracle& oracle) {
    const JobSpec& job = *setup.job;
    policies::ControllerSetup result;
    result.plan = job.plan;
    result.capabilities =
        setup.make_trainer ? setup.capabilities : simulated_capabilities(*setup.market, job);
    result.policies = std::move(setup.policies);
    result.predictor = policies::make_predictor(job.predictor, job.guess_at_start(), setup.seed);
    result.oracle = setup.oracle ? &oracle : nullptr;
    result.seed = setup.seed;
    result.samples_total = job.samples_total;
    result.samples_per_epoch = job.samples_per_epoch;
    result.log = setup.log;
    return result;
}

}  // namespace

World::World(WorldSetup setup)
    : setup_(std::move(setup)),
      job_(*setup_.job),
      rules_(group_rules(job_)),
      change_costs_(job_.change_costs()),
      queue_(job_.limits),
      market_(*setup_.market),
      oracle_(*setup_.market),
      controller_(controller_setup(setup_, oracle_)),
      fleet_(market_, ledger_, queue_, setup_.seed, setup_.provider),
      zones_(market_, fleet_, queue_) {
    if (setup_.make_trainer) {
        trainer_ = setup_.make_trainer(controller_, ledger_, queue_);
    } else {
        trainer_ = std::make_unique<Training>(job_, controller_, ledger_, queue_, setup_.seed);
    }
    const RunParts parts{job_, market_, fleet_, ledger_, queue_, controller_, *trainer_};
    if (job_.pipelines) pipelines_.emplace(parts, static_cast<GroupKeeper&>(*this));
    if (setup_.keep_timeline) timeline_.emplace(parts);
    seen_.zones.resize(market_.zone_count());
    last_bids_.resize(market_.zone_count());
    seen_.deadline = job_.deadline;
    seen_.decision_interval = job_.tick;
    seen_.losses_between_ticks = loses_between_ticks(market_.data(), job_.tick);
    seen_.workers_min = job_.workers_min;
}

void World::begin() {
    for (std::uint32_t number = 0; number < market_.zone_count(); ++number) {
        seen_.zones[number].zone = ZoneId{number};
        if (setup_.places) market_.tell_capacity(ZoneId{number}, *setup_.places);
        seen_.zones[number].speed_per_mille = setup_.market->zones[number].speed_per_mille;
    }
    zones_.begin();
    if (job_.give_up_at < Instant::never()) {
        queue_.schedule(job_.give_up_at, Phase::measurement, GaveUp{});
    }
    if (job_.tick > Duration{}) {
        ticks_ = 1;
        queue_.schedule(Instant{} + job_.tick, Phase::decision, ClockTicked{});
    }
    ask({policies::Hook::before_train, policies::EventKind::none});
    if (plans_ == 0) acquire();  // nobody changed the first Plan: it stands
    reconcile();
    schedule_ask_again();
    record_timeline();
}

void World::play_next() {
    constexpr std::uint64_t look_every = 1024;  // events
    if (setup_.stopped && queue_.popped_count() % look_every == 0 && setup_.stopped()) {
        throw RunStopped("the run was told to stop");
    }
    const auto next = queue_.pop();
    if (!next) return;  // it was called off meanwhile
    if (timeline_) timeline_->record_way(next->at, {transition_phase(), egress_});
    hash_.add(next->at, next->phase, next->event);
    if (setup_.on_event) setup_.on_event(next->at, next->phase, next->event);
    std::visit([this](const auto& event) { handle(event); }, next->event);
}

records::RunResult World::run() {
    begin();
    while (!ended_ && !is_stuck() && trainer_->wait(queue_.next_at())) play_next();
    return end();
}

records::RunResult World::end() {
    if (!ended_) {
        stuck_ = true;
        end_run(false);
    }
    INVARIANT(ledger_.open_count() == 0 && fleet_.instances().empty());
    return result();
}

Instant World::next_at() {
    return ended_ ? Instant::never() : queue_.next_at().value_or(Instant::never());
}

void World::play_until(Instant now) {
    while (next_at() <= now) play_next();
}

Duration World::work_left(Instant now, std::int32_t workers) {
    trainer_->report(now);
    const std::int64_t left = controller_.samples_total() - controller_.samples_done();
    if (left <= 0) return {};
    const Duration time = controller_.predictor().work_time(left, controller_.plan(),
                                                            std::max(workers, rules_.workers_min));
    constexpr std::int64_t too_few = 1000;
    return workers < rules_.workers_min ? too_few * time : time;
}

// A market that stays as it is, a group that waits, no machine on its way, and policies that wait
// for nothing but the market: their clock alone tells them nothing new once the deadline is over.
bool World::is_stuck() {
    if (setup_.places || setup_.provider != nullptr)
        return false;  // they may bring what is missing
    const bool has_clock = job_.tick > Duration{};
    std::size_t without_effect = 0;
    if (job_.give_up_at < Instant::never()) ++without_effect;
    if (ask_due_at_ < Instant::never()) ++without_effect;
    if (has_clock) ++without_effect;
    if (queue_.size() > without_effect || pending_plan_) return false;
    if (trainer_->phase() != policies::JobPhase::waiting) return false;
    if (!std::ranges::all_of(fleet_.instances(), &Instance::started)) return false;
    if (controller_.machines_ask_at() < job_.give_up_at) return false;
    if (!has_clock) return true;
    const bool deadline_to_come = job_.deadline < Instant::never() && queue_.now() <= job_.deadline;
    return quiet_tick_ && !deadline_to_come;
}

Dollars World::spent_by(Instant now) const { return in_all(fleet_.metered(now), egress_); }

void World::note(policies::EventKind kind) {
    pending_kind_ = std::max(pending_kind_, kind);
    quiet_tick_ = false;
    if (job_.tick > Duration{} || settled_scheduled_ || ended_) return;
    settled_scheduled_ = true;
    queue_.schedule(queue_.now(), Phase::decision, Settled{});
}

// Fills in everything that the world knows; the Controller adds its accounting.
void World::observe() {
    const Instant now = queue_.now();
    trainer_->report(now);
    seen_.now = now;
    seen_.phase = trainer_->phase();
    seen_.transition_remaining = trainer_->transition_remaining(now);
    seen_.transition_phase = transition_phase();
    seen_.workers = trainer_->phase() == policies::JobPhase::running ? trainer_->workers() : 0;
    seen_.samples_safe = trainer_->samples_safe();
    seen_.spot_held = fleet_.spot_held();
    seen_.on_demand_held = fleet_.on_demand_held();
    seen_.on_demand_price = market_.on_demand_price(ZoneId{0});
    seen_.spent = spent_by(now);
    seen_.spot_losses = fleet_.revocations();
    seen_.spot_loss_events = fleet_.revocation_events();
    seen_.spot_time = fleet_.spot_time(now);
    seen_.spot_capacity = 0;
    for (policies::ZoneView& zone : seen_.zones) {
        const Fleet::Counts& counts = fleet_.counts(zone.zone);
        const Price last_bid = last_bids_[ukemi::index_of(zone.zone)];
        const Price bid = standing_bid(controller_.plan(), zone.zone, last_bid);
        zone.spot_capacity = fleet_.visible_capacity(zone.zone, bid, now);
        zone.spot_price = market_.spot_price(zone.zone);
        zone.on_demand_price = market_.on_demand_price(zone.zone);
        const Move move = move_to(market_.data(), fleet_.instances(), model_kept_at(), zone.zone);
        zone.move_cost = move.cost;
        zone.move_time = move.time;
        zone.spot_held = counts.spot_held;
        zone.on_demand_held = counts.on_demand_held;
        zone.pending = counts.spot_pending + counts.on_demand_pending;
        seen_.spot_capacity += zone.spot_capacity;
    }
    trainer_->observe(seen_);
    show_ages();
    seen_.notices.clear();
    const bool all = market_.data().notice > Duration{};
    for (const Instance& instance : fleet_.instances()) {
        if (instance.announced() && (all || instance.told)) {
            seen_.notices.push_back({instance.id, instance.zone, *instance.lost_at});
        }
    }
}

void World::show_ages() {
    seen_.spot_since.clear();
    if (!controller_.looks_at_ages()) return;
    for (const Instance& instance : fleet_.instances()) {
        if (instance.ready && instance.market == policies::Market::spot) {
            seen_.spot_since.push_back(instance.opened);
        }
    }
    std::ranges::sort(seen_.spot_since);
}

void World::ask(policies::ControlEvent event) {
    INVARIANT(!controller_.awaiting_commit());
    observe();
    pending_kind_ = policies::EventKind::none;
    auto proposed = controller_.propose(event, seen_);
    if (!proposed) return;
    pending_plan_ = std::move(proposed);
    commit_at_boundary();
}

void World::commit_at_boundary() {
    const Instant now = queue_.now();
    if (!trainer_->at_boundary(now)) {
        trainer_->await_boundary(now);
        return;
    }
    agreeing_ = !trainer_->agree(*pending_plan_, now);
    if (agreeing_) return;  // PlanAgreed follows, or a loss
    const policies::Plan plan = *std::exchange(pending_plan_, std::nullopt);
    commit(plan);
}

void World::commit(const policies::Plan& plan) {
    trainer_->report(queue_.now());
    const bool again = committed_just_now(plan);
    const policies::Restarted restarted = policies::restarted_by(controller_.plan(), plan);
    if (rules_.whole_program && restarted == policies::Restarted::training) restart_due_ = true;
    controller_.committed(plan.version);
    ++plans_;
    hash_.add_number(ukemi::index_of(plan.version));
    mark_surplus(controller_.plan(), fleet_.instances());
    acquire();
    swap_fleets();
    reconcile();
    // What a policy asked for is there now: it may look again. But policies that only answer each
    // other would go on for ever.
    if (!again) note(policies::EventKind::phase_changed);
    if (restarted != policies::Restarted::nothing &&
        trainer_->phase() == policies::JobPhase::running) {
        resume_running();  // a new segment, with the new interval or batch
    }
}

// Whether the same Plan, but for its version, was committed before at this very instant.
bool World::committed_just_now(const policies::Plan& plan) {
    for (const policies::FleetLine& line : plan.fleet)
        last_bids_[ukemi::index_of(line.zone)] = line.bid;
    if (plans_of_now_at_ != queue_.now()) plans_of_now_.clear();
    plans_of_now_at_ = queue_.now();
    policies::Plan nameless = plan;
    nameless.version = PlanVersion{};
    const bool again = std::ranges::find(plans_of_now_, nameless) != plans_of_now_.end();
    if (!again) plans_of_now_.push_back(std::move(nameless));
    return again;
}

// The hooks of a step boundary are asked one after the other; a Plan that one of them leads to is
// committed, or discarded, before the next is asked.
void World::ask_step_hooks() {
    while (!pending_plan_ && !ended_) {
        const auto hook = controller_.next_hook();
        if (!hook) return;
        ask(*hook);
    }
}

void World::discard_pending(std::string_view why) {
    if (!pending_plan_) return;
    controller_.discarded(pending_plan_->version, why);
    pending_plan_.reset();
    ++discarded_;
    note(policies::EventKind::instances_lost);
}

void World::schedule_ask_again() {
    const Instant wanted = controller_.ask_at();
    if (job_.tick > Duration{} || wanted == ask_due_at_) return;
    queue_.cancel(ask_due_);
    ask_due_at_ = wanted;
    if (wanted == Instant::never() || ended_) return;
    ask_due_ = queue_.schedule(std::max(wanted, queue_.now()), Phase::decision, AskedAgain{});
}

// The last step is done. With a clock, that is noticed at its next tick; without one, at once.
void World::finish_work() {
    const Instant now = queue_.now();
    trainer_->finish(now);
    disband();
    discard_pending("the work is done");
    while (const auto hook = controller_.next_hook()) {
        observe();
        const auto last_wish = controller_.propose(*hook, seen_);
        if (last_wish) controller_.discarded(last_wish->version, "the work is done");
    }
    if (job_.tick > Duration{}) return;
    finished_at_ = now;
    end_run(true);
}

void World::end_run(bool finished) {
    const Instant now = queue_.now();
    if (!finished) unfinished_because_ = why_unfinished();
    discard_pending("the run is over");
    trainer_->report(now);
    disband();
    ended_ = true;
    if (pipelines_) pipelines_->end();
    trainer_->end(now);
    release_all();
    finished_ = finished;
    if (controller_.has_hook(policies::Hook::after_train)) {
        observe();
        const auto last_wish =
            controller_.propose({policies::Hook::after_train, policies::EventKind::none}, seen_);
        if (last_wish) controller_.discarded(last_wish->version, "the run is over");
    }
    record_timeline();
}

std::size_t World::bytes_held() const {
    return queue_.bytes_held() + ledger_.bytes_held() +
           fleet_.instances().size() * sizeof(Instance) +
           (timeline_ ? timeline_->rows().size() * sizeof(records::TimelineRow) : 0);
}

void World::record_timeline() {
    if (!timeline_) return;
    trainer_->report(queue_.now());
    timeline_->record(queue_.now(), {transition_phase(), egress_});
}

}  // namespace ukemi::sim
