// group.cpp — the rules of a job's group, and who of the fleet has the model.
#include "sim/job/group.hpp"

#include <algorithm>

namespace ukemi::sim {

GroupRules group_rules(const JobSpec& job) {
    GroupRules rules;
    rules.workers_min = job.workers_min;
    rules.whole_program = job.transition && job.transition->whole_program;
    rules.falls_together = job.profile.sharded || rules.whole_program;
    rules.saves_first =
        !job.profile.lossless && (!rules.whole_program || job.transition->saves_first);
    return rules;
}

bool state_held(std::span<const Instance> fleet) {
    return std::ranges::any_of(fleet, &Instance::has_state);
}

Instant state_lost_at(std::span<const Instance> fleet, const GroupRules& rules) {
    Instant first = Instant::never();
    for (const Instance& one : fleet) {
        if (!one.has_state) continue;
        if (one.announced()) {
            first = std::min(first, *one.lost_at);
        } else if (!rules.falls_together) {
            return Instant::never();
        }
    }
    return first;
}

}  // namespace ukemi::sim
