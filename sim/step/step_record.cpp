// step_record.cpp — means that add up.
#include "sim/step/step_record.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

StepParts mean_parts(const StepParts& sums, std::int64_t workers) {
    INVARIANT(workers >= 1);
    StepParts means;
    Duration all;
    Duration before;
    for (const StepPart& part : step_parts) {
        INVARIANT(sums.*part.value >= Duration{});
        all += sums.*part.value;
        const Duration until = Duration::of(all.raw() / workers);
        means.*part.value = until - before;
        before = until;
    }
    return means;
}

std::string_view fidelity_of(const JobSteps& result) {
    if (result.exact > 0 && result.fluid > 0) return "mixed";
    if (result.exact > 0) return "exact";
    if (result.fluid > 0) return "fluid";
    return result.nccl > 0 ? "nccl" : "none";
}

Staleness staleness_of(std::span<const StepRecord> steps) {
    Staleness all;
    for (const StepRecord& step : steps) {
        all.updates += step.staleness.updates;
        all.sum += step.staleness.sum;
        all.most = std::max(all.most, step.staleness.most);
    }
    return all;
}

}  // namespace ukemi::sim
