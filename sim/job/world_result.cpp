// world_result.cpp — what is known of a run when it is over.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/job/world.hpp"
#include "sim/market/lease_bill.hpp"

namespace ukemi::sim {

records::RunResult World::broken_off() {
    records::RunResult so_far = result();
    so_far.finished = so_far.deadline_met = false;
    so_far.cost = spent_by(queue_.now());
    return so_far;
}

std::string World::why_unfinished() const {
    const policies::Plan& plan = controller_.plan();
    const bool wants_none =
        policies::fleet_count(plan) == 0 || policies::fleet_market(plan) == policies::Market::none;
    const policies::JobPhase phase = trainer_->phase();
    const bool wants_spot = policies::fleet_market(plan) == policies::Market::spot;
    const std::string_view what = phase == policies::JobPhase::running ? "it was still training"
                                  : phase == policies::JobPhase::checkpointing ? "it was saving"
                                  : phase == policies::JobPhase::transition
                                      ? "it was getting ready to train"
                                  : wants_none ? "its policies want no machines"
                                  : wants_spot ? "it waits for spot machines"
                                               : "it waits for machines";
    return fmt::format("{} {}", what,
                       stuck_ ? "and nothing to come would change that" : "when time was up");
}

void World::count(records::RunResult& result) const {
    result.launches = fleet_.launches();
    result.launch_failures = fleet_.launch_failures();
    result.revocations = fleet_.revocations();
    result.revocation_events = fleet_.revocation_events();
    result.failures = failures_;
    result.transitions = trainer_->transitions();
    result.checkpoints = trainer_->checkpoints();
    result.plans = plans_;
    result.discarded = discarded_;
    result.refused = controller_.refused_count();
}

records::RunResult World::so_far(records::Cause cause, Instant now) const {
    records::RunResult result;
    records::Ledger ledger = ledger_;
    now = std::max({now, queue_.now(), ledger.members_at()});
    ledger.elapse(now, cause);
    result.spot = fleet_.spot_billed();
    result.on_demand = fleet_.on_demand_billed();
    for (const Instance& instance : fleet_.instances()) {
        if (!instance.ready) continue;
        const Fleet::Bill bill = fleet_.bill_of(instance, now);
        ledger.close(instance.lease, now, bill.held, bill.cost);
        const bool spot = instance.market == policies::Market::spot;
        (spot ? result.spot : result.on_demand).add(bill.held, bill.cost);
    }
    result.duration = now.since_start();
    result.samples_done = controller_.samples_done();
    result.steps = controller_.steps_done();
    result.causes = ledger.totals();
    result.held = ledger.held();
    result.worker_time = ledger.as_members();
    result.egress = egress_;
    result.cost = in_all(ledger.billed(), egress_);
    count(result);
    if (trainer_->phase() == policies::JobPhase::checkpointing) ++result.checkpoints;
    return result;
}

records::RunResult World::result() {
    records::RunResult result;
    result.seed = setup_.seed;
    result.oracle = setup_.oracle;
    result.predictor = policies::name_of(job_.predictor.kind);
    result.finished = finished_;
    const Instant end = finished_ ? finished_at_ : queue_.now();
    result.duration = end.since_start();
    result.stuck = stuck_;
    result.unfinished_because = unfinished_because_;
    if (job_.deadline < Instant::never()) {
        result.deadline = job_.deadline.since_start();
        result.deadline_met = finished_ && finished_at_ <= job_.deadline;
    }
    result.ticks = ticks_;
    result.samples_done = std::min(controller_.samples_done(), controller_.samples_total());
    result.samples_total = controller_.samples_total();
    result.work_is_time = job_.samples_per_epoch == 0;
    result.causes = ledger_.totals();
    result.held = ledger_.held();
    result.worker_time = ledger_.as_members();
    result.egress = egress_;
    result.cost = in_all(ledger_.billed(), egress_);
    INVARIANT(result.causes.time_sum() == result.held);
    INVARIANT(result.causes.cost_sum() + result.egress == result.cost);
    result.spot = fleet_.spot_billed();
    result.on_demand = fleet_.on_demand_billed();
    INVARIANT(result.spot.held + result.on_demand.held == result.held);
    INVARIANT(result.spot.cost + result.on_demand.cost + result.egress == result.cost);
    count(result);
    const StepsMade made = trainer_->steps_made();
    const Duration mean = Duration::of(made.time.raw() / std::max<std::int64_t>(made.steps, 1));
    if (mean >= nanoseconds(1000)) {  // else time is its work
        result.steps = controller_.steps_done();
        result.step_mean = mean;
    }
    if (pipelines_) {
        result.pipelines = pipelines_->counts();
        if (made.steps > 0) result.trained = {made.from.since_start(), made.until.since_start()};
    }
    if (const auto learned = trainer_->learned()) {
        result.learned = learned->share;
        result.accuracy = learned->metric;
        if (result.finished && learned->share < 1) {
            result.finished = result.deadline_met = false;
            result.unfinished_because = "its samples were used up short of the target";
        }
    }
    result.first_refusal = controller_.first_refusal();
    result.events = static_cast<std::int64_t>(queue_.popped_count());
    hash_.add_number(result.cost.raw());
    hash_.add_number(result.duration.raw());
    if (const auto digest = trainer_->model_digest()) {
        hash_.add_number(std::bit_cast<std::int64_t>(*digest));
    }
    result.event_hash = hash_.text();
    if (change_costs_.phases_known) result.phases = meter_.with(trainer_->phase_costs());
    if (timeline_) result.timeline = timeline_->take_rows();
    return result;
}

}  // namespace ukemi::sim
