// live_stop.cpp — how a live run ends before its work is done, and keeps what it has learned.
//
// Told to stop, or seeing no way on, it finishes the step that is under way and lets the World end
// at that moment. However a run ends, the model is saved then by those who still have it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/unit_text.hpp"
#include "runtime/live_trainer.hpp"
#include "runtime/notices/metadata_service.hpp"

namespace ukemi::runtime {

namespace {

using Wall = LiveClock::Wall;
constexpr int saves_most = 2;

std::chrono::milliseconds time_until(WorldTime at) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(at -
                                                                 std::chrono::system_clock::now());
}

}  // namespace

void LiveTrainer::tell_end(Instant at) {
    write(ToldEnd{at});
    ending_ = true;
    queue_->schedule(at, sim::Phase::measurement, sim::GaveUp{});
}

void LiveTrainer::stop_because(const std::string& why) {
    if (record_->stopped.empty()) record_->stopped = why;
}

void LiveTrainer::fail_because(const std::string& why) {
    if (record_->stopped.empty()) record_->failed = true;
    stop_because(why);
}

bool LiveTrainer::hurried() const {
    return setup_.stop_requests != nullptr && setup_.stop_requests->load() > 1;
}

bool LiveTrainer::must_stop() {
    if (stopping_) return true;
    if (phase_ == policies::JobPhase::finished) return false;  // it ends by itself
    const std::chrono::milliseconds within = told_to_stop();
    if (record_->stopped.empty()) return false;
    stopping_ = true;
    stop_within_ = within;
    stop_by_ = Wall::now() + within;
    return true;
}

// By a signal, or because the machine is taken. How long there is for it.
std::chrono::milliseconds LiveTrainer::told_to_stop() {
    const bool told = setup_.stop_requests != nullptr && setup_.stop_requests->load() > 0;
    if (told) stop_because("told to stop");
    if (setup_.share != nullptr && share_.places == 0) stop_because(std::string(paused_run));
    mind_limits();
    mind_lease();
    if (!notice_) return setup_.stop_within;
    if (!notice_->at) {
        stop_because(notice_->text);
        return setup_.stop_within;
    }
    const std::chrono::milliseconds left = time_until(*notice_->at);
    if (left <= setup_.stop_within) stop_because(notice_->text);
    return std::clamp(left, std::chrono::milliseconds(0), setup_.stop_within);
}

// Early enough to save: what is held costs until then.
void LiveTrainer::mind_limits() {
    if (setup_.budget) {
        const Instant end =
            std::max(clock_.now(), queue_->now()) + clock_.scaled(setup_.stop_within);
        if (setup_.spent_by(end) >= *setup_.budget) {
            stop_because(
                fmt::format("the budget of {} USD would be spent", format_dollars(*setup_.budget)));
        }
    }
    if (setup_.stop_at && time_until(*setup_.stop_at) <= setup_.stop_within) {
        stop_because("its hour has come: " + utc_text(*setup_.stop_at));
    }
}

void LiveTrainer::mind_lease() {
    const Instant now = std::max(clock_.now(), queue_->now());
    if (setup_.remarks) {
        if (const auto remark = setup_.remarks()) note_incident(now, *remark);
    }
    if (!setup_.lost_to || !record_->stopped.empty()) return;
    if (const auto why = setup_.lost_to()) be_replaced(*why, now);
}

// What its workers know is that one's to save.
void LiveTrainer::be_replaced(const std::string& why, Instant at) {
    note_incident(at, why);
    stop_because(why);
    record_->replaced = true;
    crew_.leave_to_another();
    model_kept_ = true;
}

// Its workers are machines of the market: all of them are announced to be lost, and no others are
// to be had here. Where nobody knows when, as soon as the run may have come to its end.
void LiveTrainer::hear_of_host(Instant now) {
    if (notice_ || !setup_.host_loss || phase_ == policies::JobPhase::finished) return;
    notice_ = setup_.host_loss();
    if (!notice_) return;
    note_incident(now, notice_->text);
    if (setup_.crew.agents) return;  // they are elsewhere
    const std::chrono::milliseconds left =
        notice_->at ? time_until(*notice_->at) : setup_.stop_within;
    const Instant lost_at = now + clock_.scaled(std::max(left, std::chrono::milliseconds(0)));
    for (const InstanceId machine : machines_) {
        queue_->schedule(now, sim::Phase::environment, sim::LossTold{machine, lost_at});
    }
    for (std::uint32_t zone = 0; zone < setup_.zones; ++zone) {
        queue_->schedule(now, sim::Phase::environment, sim::CapacityTold{ZoneId{zone}, 0});
    }
}

// What is under way ends first, so that no step is torn; but half of the time is for saving.
bool LiveTrainer::may_stop_now() {
    if (group_ == Group::stepping) order_hold();
    const bool busy = group_ == Group::holding || group_ == Group::agreeing ||
                      group_ == Group::saving || group_ == Group::rejoining;
    return !busy || hurried() || Wall::now() >= stop_by_ - stop_within_ / 2;
}

void LiveTrainer::end(Instant) { keep_model(); }

// By the group that stands, or by one that is formed for it: of all that have the model, because
// they know best what all of them have done.
void LiveTrainer::order_save() {
    --saves_left_;
    if (std::exchange(crew_stands_, false)) {
        crew_.save();
        return;
    }
    crew_.abandon();
    crew_.begin_transition(holders_, controller_->plan());
}

// What came of the order: false if there is nothing more to wait for.
bool LiveTrainer::save_goes_on(const CrewEvent& event) {
    const Instant at = std::max(clock_.now(), queue_->now());
    if (const auto* entered = std::get_if<GroupEntered>(&event)) {
        note_common_steps(*entered);
        crew_.save();
        return true;
    }
    if (const auto* failed = std::get_if<TransitionFailed>(&event)) {
        note_incident(at, fmt::format("no group to save the model: {}", failed->why));
    } else {
        take(event, at);
        if (std::holds_alternative<CheckpointSaved>(event)) {
            return samples_safe() < controller_->samples_done();  // else one ordered before
        }
        if (!std::holds_alternative<CheckpointFailed>(event)) return true;
    }
    if (holders_.empty() || saves_left_ == 0) return false;
    order_save();
    return true;
}

void LiveTrainer::keep_model() {
    if (absent_) leave_past();
    if (group_ != Group::none) let_go();
    const Instant at = std::max(clock_.now(), queue_->now());
    while (!reports_.empty()) {
        const CrewEvent event = std::move(reports_.front());
        reports_.pop_front();
        take(event, at);
    }
    if (holders_.empty() || controller_->samples_done() <= samples_safe()) return;
    if (std::exchange(model_kept_, true)) return;  // or it could not be
    const CrewDeadlines& deadlines = setup_.crew.deadlines;
    const auto by =
        stopping_ ? stop_by_ : Wall::now() + deadlines.transition + deadlines.checkpoint;
    saves_left_ = saves_most;
    order_save();
    for (;;) {
        const auto left = by - Wall::now();
        if (hurried() || left <= Wall::duration::zero()) {
            note_incident(at, hurried() ? "told to stop at once: the model is not saved"
                                        : "the model could not be saved in time");
            return;
        }
        for (CrewEvent& event :
             crew_.poll(std::min<Wall::duration>(left, std::chrono::milliseconds(100)))) {
            reports_.push_back(std::move(event));
        }
        while (!reports_.empty()) {
            const CrewEvent event = std::move(reports_.front());
            reports_.pop_front();
            if (!save_goes_on(event)) return;
        }
    }
}

}  // namespace ukemi::runtime
