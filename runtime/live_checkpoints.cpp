// live_checkpoints.cpp — what a live run saves, and what it goes on from when no worker has the
// model.
#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "runtime/live_trainer.hpp"
#include "runtime/saved_checkpoints.hpp"

namespace ukemi::runtime {

// Which is read only if no member has the model.
void LiveTrainer::enter_from_checkpoint() {
    tell_crew([&](Crew& crew) {
        crew.begin_transition(members_, controller_->plan(), record_->last_checkpoint);
    });
}

// No group could be formed because the last checkpoint is damaged: one is from an older one, if
// there is a whole one beside it.
bool LiveTrainer::goes_back(const TransitionFailed&, Instant at) {
    const bool reads = group_ == Group::entering && phase_ == policies::JobPhase::transition &&
                       holders_.empty() && !member_died_ && !record_->last_checkpoint.empty();
    if (!reads) return false;
    try {
        const auto whole = newest_whole_checkpoint(record_->last_checkpoint.parent_path());
        const bool is_older = whole && whole->step < record_->last_saved_step &&
                              whole->job == kernels::job_identity(setup_.crew.training);
        if (!is_older) return false;
        const WentBack back{at, whole->file, whole->step, whole->position, whole->remark()};
        write(back);
        relive(back);
        tell_crew([&](Crew& crew) { crew.forget_checkpoints_after(back.file); });
    } catch (const InputError&) {
        return false;  // none is whole: the workers have said what is wrong
    }
    enter_from_checkpoint();
    return true;
}

void LiveTrainer::relive(const WentBack& record) {
    known_until_ = std::max(known_until_, record.at);
    record_->last_checkpoint = record.file;
    record_->last_saved_step = record.step;
    progress_.written({record.position, record.step});
    if (const auto kept = progress_.roll_back(controller_->samples_done())) {
        controller_->rolled_back(kept->samples, kept->steps);
    }
    note_incident(record.at, fmt::format("checkpoint: {}", record.remark));
}

void LiveTrainer::take(const CheckpointSaved& event, Instant at) {
    record_->checkpoint_times.push_back(event.time);
    record_->last_checkpoint = event.file;
    record_->last_saved_step = event.step;
    record_->last_saved_at = at;
    record_->saved_samples.push_back(event.position);
    record_->saved_steps.push_back(event.step);
    checkpoint_time_ = std::max(checkpoint_time_, clock_.scaled(event.time));
    if (group_ != Group::saving) {  // called off meanwhile, and written all the same
        progress_.written({event.position, event.step});
        return;
    }
    saved_ = {event.position, event.step};
    group_ = Group::held;
    queue_->schedule(at, sim::Phase::completion, sim::CheckpointEnded{});
    if (boundary_wanted_) await_boundary(at);
}

void LiveTrainer::take(const CheckpointFailed& event, Instant at) {
    note_incident(at, fmt::format("checkpoint: {}", event.why));
    if (group_ != Group::saving) return;
    group_ = Group::held;
    queue_->schedule(at, sim::Phase::completion, sim::CheckpointEnded{});
    if (boundary_wanted_) await_boundary(at);
}

}  // namespace ukemi::runtime
