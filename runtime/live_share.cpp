// live_share.cpp — a live run whose machines are what a scheduler gives it.
#include <algorithm>
#include <limits>

#include "runtime/live_trainer.hpp"

namespace ukemi::runtime {

// What shrinks is told as capacity first, so that the job's own policies can make room at a step
// boundary; what they keep is taken from them later. Without a place the run ends (told_to_stop).
void LiveTrainer::mind_share(Instant now) {
    if (setup_.share == nullptr) return;
    const ShareOrder order = setup_.share->ordered();
    const auto wall = LiveClock::Wall::now();
    if (order.places != share_.places) {
        queue_->schedule(now, sim::Phase::environment, sim::CapacityTold{ZoneId{0}, order.places});
        share_taken_at_ = wall + setup_.stop_within;
    }
    share_ = order;
    if (wall < share_taken_at_) return;
    auto excess = std::ssize(machines_) - share_.places;
    for (auto machine = machines_.rbegin(); machine != machines_.rend() && excess > 0; ++machine) {
        queue_->schedule(now, sim::Phase::environment, sim::LossTold{*machine, now});
        --excess;
    }
    share_taken_at_ = LiveClock::Wall::time_point::max();
}

// How many steps fit into what it may train until.
std::int64_t LiveTrainer::steps_allowed() const {
    if (share_.samples_until >= controller_->samples_total()) {
        return std::numeric_limits<std::int32_t>::max();
    }
    const std::int64_t left = share_.samples_until - controller_->samples_done();
    const std::int64_t step = policies::samples_per_step(controller_->plan(), workers_);
    return std::max<std::int64_t>(left, 0) / step;
}

// Nothing is due now.
void LiveTrainer::report_share() {
    if (setup_.share == nullptr) return;
    ShareReport report;
    report.order = share_;
    report.processes = processes_;
    report.workers = workers_;
    report.samples = controller_->samples_done();
    const bool trains = phase_ == policies::JobPhase::running;
    report.stands = trains && group_ == Group::held && steps_allowed() == 0;
    setup_.share->report(report);
}

}  // namespace ukemi::runtime
