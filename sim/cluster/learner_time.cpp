// learner_time.cpp — two bounds.
#include "sim/cluster/learner_time.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

double round_seconds(const LearnerStep& step, const LearnerRule& rule) {
    INVARIANT(rule.count >= 1 && step.alone_s >= 0 && step.device_s >= 0);
    const auto count = static_cast<double>(rule.count);
    if (rule.sharing == LearnerSharing::in_turn) return count * step.alone_s;
    return std::max(step.alone_s, count * std::min(step.device_s, step.alone_s));
}

std::string_view bound_of(const LearnerStep& step, const LearnerRule& rule) {
    if (rule.sharing == LearnerSharing::in_turn) return "taking turns";
    const bool waits = static_cast<double>(rule.count) * step.device_s < step.alone_s;
    return waits ? "launching" : "the device";
}

}  // namespace ukemi::sim
