#include "sim/jobs/outcome_order.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {

namespace {

constexpr auto useful_cause = static_cast<std::size_t>(records::Cause::useful);
constexpr auto transition_cause = static_cast<std::size_t>(records::Cause::transition);
constexpr auto flat_phase = static_cast<std::size_t>(policies::TransitionPhase::none);

}  // namespace

OutcomeOrder::Waiting OutcomeOrder::packed(JobOutcome outcome) {
    Waiting brief{true,
                  static_cast<std::int32_t>(outcome.starts),
                  outcome.completion,
                  outcome.held,
                  outcome.gpu_s,
                  static_cast<std::int64_t>(outcome.gpu_time[useful_cause]),
                  static_cast<std::int64_t>(outcome.gpu_time[transition_cause]),
                  nullptr};
    if (unpacked(brief) != outcome) {
        brief.whole = std::make_unique<const JobOutcome>(std::move(outcome));
    }
    return brief;
}

JobOutcome OutcomeOrder::unpacked(const Waiting& waiting) {
    if (waiting.whole != nullptr) return *waiting.whole;
    JobOutcome outcome;
    outcome.starts = waiting.starts;
    outcome.completion = waiting.completion;
    outcome.held = waiting.held;
    outcome.gpu_s = waiting.gpu_s;
    outcome.gpu_time[useful_cause] = waiting.useful;
    outcome.gpu_time[transition_cause] = outcome.phase_time[flat_phase] = waiting.restarting;
    return outcome;
}

void OutcomeOrder::over(std::size_t job, JobOutcome outcome) {
    INVARIANT(job >= first_);
    waiting_most_ = std::max(waiting_most_, ++count_);
    if (job == first_ && !cost_of_) {  // nobody waits for it
        --count_;
        ++first_;
        if (!waiting_.empty()) waiting_.pop_front();
        sink_.over(job, outcome);
        return hand_on();
    }
    if (job - first_ >= waiting_.size()) waiting_.resize(job - first_ + 1);
    INVARIANT(!waiting_[job - first_].is_over);
    waiting_[job - first_] = packed(std::move(outcome));
}

void OutcomeOrder::hand_on() {
    while (!waiting_.empty() && waiting_.front().is_over) {
        JobOutcome outcome = unpacked(waiting_.front());
        waiting_.pop_front();
        --count_;
        if (cost_of_) outcome.cost = cost_of_(first_);
        sink_.over(first_++, outcome);
    }
}

void OutcomeOrder::end() {
    hand_on();
    INVARIANT(count_ == 0 && waiting_.empty());
}

}  // namespace ukemi::sim
