// telling_trainer.hpp — a simulated group that tells who is in it, what they are at, and when the
// phases of their changes will be: for tests that strike in the midst of one.
#pragma once

#include <fmt/format.h>

#include <set>

#include "sim/job/training.hpp"

namespace ukemi {

// When the phases of a group's changes are, or its machines' starts, and who is concerned.
struct Moment {
    std::string phase;  // "grow transfer", "spawn while others train", …
    Instant at;
    std::vector<InstanceId> who;
};

// Every kind of change has a warm-up of its own, to the nanosecond: by that it is known again.
inline Duration marked_warm_up(Duration time, std::size_t change) {
    return time + nanoseconds(static_cast<std::int64_t>(change) + 1);
}

inline std::string phase_name(const records::PhaseTimes& phases, policies::TransitionPhase phase) {
    const Duration warm_up = phases[static_cast<std::size_t>(policies::TransitionPhase::warm_up)];
    const auto change = static_cast<std::size_t>(warm_up.raw() % 1000 - 1);
    return fmt::format("{} {}", sim::group_change_names[change],
                       policies::transition_phase_names[static_cast<std::size_t>(phase)]);
}

// A simulated group that tells who is in it and what it is at.
class TellingTrainer final : public sim::Trainer {
public:
    TellingTrainer(std::unique_ptr<sim::Training> group, std::vector<Moment>& moments)
        : group_(std::move(group)), moments_(&moments) {}

    // What the member is at: a phase of a change, or a checkpoint; empty for others.
    std::string phase_of(InstanceId id, Instant now) const {
        if (starting_.contains(id)) return "spawn while others train";
        if (!members_.contains(id)) return "";
        if (group_->phase() == policies::JobPhase::checkpointing) return "drain";
        const policies::TransitionPhase phase = group_->transition_phase(now);
        return phase == policies::TransitionPhase::none ? "" : phase_name(phases_, phase);
    }
    bool gone(InstanceId id) const { return gone_.contains(id); }
    void started(InstanceId id) { starting_.erase(id); }

    void begin_transition(const sim::TransitionOrder& order, Instant now) override {
        members_ = {order.members.begin(), order.members.end()};
        phases_ = order.phases;
        Instant from = now;
        for (std::size_t index = 0; index < phases_.size(); ++index) {
            const Duration length = phases_[index];
            if (length > nanoseconds(10)) {
                moments_->push_back(
                    {phase_name(phases_, static_cast<policies::TransitionPhase>(index)),
                     from + Duration::of(length.raw() / 2),
                     {order.members.begin(), order.members.end()}});
            }
            from = from + length;
        }
        group_->begin_transition(order, now);
    }
    bool start(InstanceId id, Instant now) override {
        const bool at_once = group_->start(id, now);
        if (at_once) return true;
        starting_.insert(id);
        const Instant soon = now + whole_seconds(1);
        if (group_->phase() == policies::JobPhase::running) {
            moments_->push_back({"spawn while others train", soon, {id}});
        }
        return false;
    }
    void leave(InstanceId id, bool lost, Instant now) override {
        members_.erase(id);
        starting_.erase(id);
        gone_.insert(id);
        group_->leave(id, lost, now);
    }
    void begin_checkpoint(Instant now) override {
        moments_->push_back(
            {"drain", now + nanoseconds(1'000'000), {members_.begin(), members_.end()}});
        group_->begin_checkpoint(now);
    }

    policies::JobPhase phase() const override { return group_->phase(); }
    std::int32_t workers() const override { return group_->workers(); }
    std::int64_t samples_safe() const override { return group_->samples_safe(); }
    Duration transition_remaining(Instant now) const override {
        return group_->transition_remaining(now);
    }
    policies::TransitionPhase transition_phase(Instant now) const override {
        return group_->transition_phase(now);
    }
    records::PhaseCosts phase_costs() const override { return group_->phase_costs(); }
    std::int64_t checkpoints() const override { return group_->checkpoints(); }
    std::int64_t transitions() const override { return group_->transitions(); }
    sim::StepsMade steps_made() const override { return group_->steps_made(); }
    void observe(policies::Observation& seen) const override { group_->observe(seen); }
    void report(Instant now) override { group_->report(now); }
    bool at_boundary(Instant now) const override { return group_->at_boundary(now); }
    void await_boundary(Instant now) override { group_->await_boundary(now); }
    bool agree(const policies::Plan& next, Instant now) override {
        return group_->agree(next, now);
    }
    void stop(Instant now) override { group_->stop(now); }
    void tear(Instant now) override { group_->tear(now); }
    void go_on(bool slowed, bool member_gone, Instant now) override {
        group_->go_on(slowed, member_gone, now);
    }
    void phase_began(Instant now) override { group_->phase_began(now); }
    void begin_running(Instant now) override { group_->begin_running(now); }
    void save_before(Instant deadline, Instant now) override { group_->save_before(deadline, now); }
    void finish_checkpoint(Instant now) override { group_->finish_checkpoint(now); }
    void finish(Instant now) override { group_->finish(now); }
    void roll_back() override { group_->roll_back(); }
    bool wait(std::optional<Instant> next_due) override { return group_->wait(next_due); }

private:
    std::unique_ptr<sim::Training> group_;
    std::vector<Moment>* moments_;
    std::set<InstanceId> members_;
    std::set<InstanceId> starting_;
    std::set<InstanceId> gone_;
    records::PhaseTimes phases_{};
};

}  // namespace ukemi
