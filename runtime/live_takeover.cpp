// live_takeover.cpp — a live run goes on where a coordinator that is gone has left its workers.
//
// Before the World begins, those that have the model write it to a checkpoint: from there on it is
// a run that resumes, only that its workers are there and have the model already. If they are lost
// in the meantime, nothing but time is. Workers that stand before the newest checkpoint (they had
// left the group before) have nothing that is not there.
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "runtime/live_trainer.hpp"

namespace ukemi::runtime {

namespace {

// Agents try again several times a second, and so do workers.
constexpr auto takeover_wait = std::chrono::seconds(5);
constexpr auto takeover_look = std::chrono::milliseconds(100);

}  // namespace

void LiveTrainer::take_over() {
    auto by = LiveClock::Wall::now() + takeover_wait;
    for (;;) {
        const auto found = crew_.found(LiveClock::Wall::now() < by, setup_.resume_steps);
        if (found) return save_found(*found);
        for (CrewEvent& event : crew_.poll(takeover_look)) {
            if (std::holds_alternative<CrewReplaced>(event)) by = LiveClock::Wall::now();
            reports_.push_back(std::move(event));
        }
    }
}

void LiveTrainer::save_found(FoundWorkers found) {
    const std::size_t count = found.holders.size();
    while (!found.holders.empty()) {
        crew_.begin_transition(found.holders, controller_->plan());
        if (!poll_until_saved(found)) continue;
        note_agents(Instant{},
                    fmt::format("took over {} workers before step {}", count, found.step));
        setup_.resume_steps = found.step;
        setup_.resume_samples = found.position;
        break;
    }
    clock_ = LiveClock(setup_.time_scale, setup_.wall);  // the run begins now
}

// False: some of them are lost, and the others are to be asked.
bool LiveTrainer::poll_until_saved(FoundWorkers& found) {
    for (;;) {
        for (CrewEvent& event : crew_.poll(takeover_look)) {
            if (std::holds_alternative<GroupEntered>(event)) {
                crew_.save();
            } else if (const auto* saved = std::get_if<CheckpointSaved>(&event)) {
                setup_.resume_from = saved->file;
                return true;
            } else if (const auto* failed = std::get_if<CheckpointFailed>(&event)) {
                const std::size_t before = found.holders.size();
                found = *crew_.found(false);
                if (found.holders.size() < before) return false;
                throw std::runtime_error("what its workers hold cannot be saved: " + failed->why);
            } else if (const auto* refused = std::get_if<TransitionFailed>(&event)) {
                const std::size_t before = found.holders.size();
                found = *crew_.found(false);
                if (found.holders.size() < before) return false;
                throw std::runtime_error("its workers form no group: " + refused->why);
            } else {
                reports_.push_back(std::move(event));
            }
        }
    }
}

}  // namespace ukemi::runtime
