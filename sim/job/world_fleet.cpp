// world_fleet.cpp — from the Plan's fleet to the instances held, and from those to the group that
// trains.
#include <fmt/format.h>

#include <algorithm>

#include "base/unit_text.hpp"
#include "sim/job/orders.hpp"
#include "sim/job/world.hpp"

namespace ukemi::sim {

void World::acquire() {
    const Instant now = queue_.now();
    const policies::Plan& plan = controller_.plan();
    fleet_.let_machines_come(now);
    room_.clear();
    for (const policies::FleetLine& line : plan.fleet) {
        const bool spot = line.market == policies::Market::spot;
        room_.push_back(spot ? fleet_.spot_room(line.zone, line.bid, now)
                             : fleet_.on_demand_room(line.zone));
    }
    for (const policies::FleetLine& line :
         requests(plan, fleet_.instances(), room_, rules_.workers_min)) {
        for (std::int32_t more = line.count; more > 0; --more) {
            // Lines of both markets may share the places that they were told of.
            if (market_.is_told(line.zone) && fleet_.on_demand_room(line.zone) == 0) break;
            check_launches();
            fleet_.launch(line.zone, line.market, line.bid, now);
            Instance& newest = fleet_.instances().back();
            if (newest.ready) start_worker(newest);  // provisioning takes no time
        }
    }
}

void World::check_launches() const {
    if (fleet_.launches() < job_.launches_max) return;
    throw RunLimitReached(fmt::format(
        "run limit reached: launches_max of {} machines were asked for, at {} s of simulated time; "
        "if the policies do not give back and ask again without end, raise /limits/launches_max in "
        "the scenario",
        job_.launches_max, to_seconds(queue_.now().since_start())));
}

// A policy that asks again at once, for ever, keeps the clock from getting on as a loop at one
// instant does, and what is written down of its questions fills the memory. Who asks every
// millisecond is none. Real workers do things that are no events.
void World::check_questions() {
    constexpr Duration soon = whole_seconds(100);  // for so many questions
    constexpr std::uint64_t events_of_question = 2;
    if (setup_.make_trainer) return;
    const bool in_a_row = queue_.popped_count() - events_at_question_ == events_of_question;
    events_at_question_ = queue_.popped_count();
    const Instant now = queue_.now();
    if (!in_a_row || now - first_quiet_question_ >= soon) {
        quiet_questions_ = 0;
        first_quiet_question_ = now;
    }
    if (++quiet_questions_ <= job_.limits.events_per_instant_max) return;
    throw RunLimitReached(fmt::format(
        "run limit reached: {} asked to be asked again {} times in a row, within {} of simulated "
        "time, until {} s, and nothing else happened; if that is no endless loop, raise "
        "/limits/events_per_instant_max in the scenario",
        controller_.asks_first(), job_.limits.events_per_instant_max,
        format_duration(now - first_quiet_question_), to_seconds(now.since_start())));
}

// (Re)starts the segment of a group that trains, with a last save if its model is doomed.
void World::resume_running() {
    const Instant now = queue_.now();
    trainer_->begin_running(now);
    save_before_loss();
}

Instant World::model_lost_at() const {
    return pipelines_ ? pipelines_->model_lost_at() : state_lost_at(fleet_.instances(), rules_);
}

void World::save_before_loss() {
    if (!controller_.plan().checkpoint_on_notice) return;
    const Instant lost_at = model_lost_at();
    if (lost_at < Instant::never()) trainer_->save_before(lost_at, queue_.now());
}

void World::swap_fleets() {
    const Instant now = queue_.now();
    const policies::Plan& plan = controller_.plan();
    if (!plan.replaced.empty()) mark_surplus(plan, fleet_.instances());
    const policies::JobPhase phase = trainer_->phase();
    const bool to_save = phase != policies::JobPhase::finished && unsaved();
    const Swap swap = swap_of(plan, fleet_.instances(), rules_, to_save);
    if (swap.save_first) {
        if (phase == policies::JobPhase::checkpointing) return;  // the one in progress will do
        if (phase == policies::JobPhase::transition) trainer_->stop(now);
        begin_drain();
        return;
    }
    if (swap.group_ends) disband();
    for (const InstanceId id : swap.leaving) release(id, false);
    if (swap.model_ends) forget_model();
}

void World::forget_model() {
    for (Instance& one : fleet_.instances()) one.has_state = false;
}

void World::release_all() {
    while (!fleet_.instances().empty()) {
        release(fleet_.instances().back().id, false);
    }
}

void World::model_stays_where_it_is() {
    if (const auto zone = place_of_model(fleet_.instances())) model_at_ = zone;
}

std::optional<ZoneId> World::model_kept_at() const {
    return trainer_->samples_safe() > 0 ? model_at_ : std::nullopt;
}

}  // namespace ukemi::sim
