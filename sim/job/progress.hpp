// progress.hpp — how far a training group got, what of it is kept, and when its steps end.
//
// Values without a clock and without a group. Every trainer counts its Progress; a Segment is for
// one that computes its steps and does not wait for them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/quantity.hpp"
#include "policies/job_profile.hpp"
#include "policies/plan.hpp"

namespace ukemi::sim {

// Steps that were finished, also those that a loss made vain, and the time they took.
struct StepsMade {
    std::int64_t steps = 0;
    Duration time;
    Instant from = Instant::never();  // when a group trained first
    Instant until;                    // the end of the last of them
};

// How much of the job a checkpoint holds.
struct SavedWork {
    std::int64_t samples = 0;
    std::int64_t steps = 0;
    friend bool operator==(const SavedWork&, const SavedWork&) = default;
};

class Progress {
public:
    const StepsMade& made() const { return made_; }
    const SavedWork& kept() const { return kept_; }  // survives the loss of every copy of the model
    std::int64_t checkpoints() const { return checkpoints_; }
    // The most samples that were ever done: what is done below it is done again.
    std::int64_t samples_most() const { return samples_most_; }

    void resume_at(const SavedWork& begin) {  // a run that begins from a checkpoint
        kept_ = begin;
        reached(begin.samples);
    }
    void reached(std::int64_t samples_done);
    // A step of a job that loses nothing was counted and is not made after all.
    void taken_back(std::int64_t samples_done) { samples_most_ = samples_done; }
    void steps_made(std::int64_t steps, Duration time, Instant until);  // its last step's end
    // Time to be counted until the next checkpoint.
    void ran(Duration time) { run_since_checkpoint_ += time; }
    // What is left until a checkpoint is due, zero if it is overdue; nothing if none ever is.
    std::optional<Duration> until_checkpoint(Duration interval) const;
    bool ran_since_checkpoint() const { return run_since_checkpoint_ > Duration{}; }
    // It saved this, or nothing if it failed; the next one is due an interval later either way.
    void checkpoint_ended(const std::optional<SavedWork>& saved);
    // One that was called off, but came to be written all the same.
    void written(const SavedWork& saved) { kept_ = saved; }
    // Every copy of the model is gone: where the job goes on, unless that costs it nothing.
    std::optional<SavedWork> roll_back(std::int64_t samples_done);

private:
    StepsMade made_;
    SavedWork kept_;
    std::int64_t checkpoints_ = 0;
    std::int64_t samples_most_ = 0;
    Duration run_since_checkpoint_;
};

// Rounded up; none where nothing is left.
std::int64_t steps_for(std::int64_t samples_left, std::int64_t samples_per_step);
// The last moment to begin a save that takes so long and is to be over a second before `deadline`;
// nothing if that is past.
std::optional<Instant> latest_save(Instant deadline, Duration takes, Instant now);

// Steps of equal size at a constant rate, from a moment on; the first may take another time.
struct Segment {
    Instant since;
    policies::StepRate rate;
    std::int64_t samples_per_step = 1;
    std::int64_t samples_to_redo = 0;  // from its beginning: they were done before
    Duration first_later{};            // how much later than at that rate the first step ends

    std::int64_t steps_by(Instant now) const;  // whole ones
    Instant end_of(std::int64_t steps) const;  // of so many
    // The end of the last whole step, and of the step in progress: equal at a boundary. Where a
    // step takes a nanosecond or less, every moment is one.
    Instant boundary_before(Instant now) const { return end_of(steps_by(now)); }
    Instant boundary_after(Instant now) const;
    // When the last of its first steps ends that does again what was done before.
    Instant redone_until(std::int64_t steps) const;
    // Until a boundary is at `moment` or after it; at least one.
    std::int64_t steps_until(Instant moment) const;
    // After how many of `steps_left` steps a checkpoint begins that is due in `rest`: at a boundary
    // not after that, but no sooner than `least` steps; nothing if all of them end before.
    std::optional<std::int64_t> steps_to_checkpoint(Duration rest, std::int64_t least,
                                                    std::int64_t steps_left) const;
};

}  // namespace ukemi::sim
