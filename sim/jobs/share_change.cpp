#include "sim/jobs/share_change.hpp"

#include <algorithm>

namespace ukemi::sim {

namespace {

using policies::TransitionPhase;

Duration& of(records::PhaseTimes& times, TransitionPhase phase) {
    return times[static_cast<std::size_t>(phase)];
}

std::int32_t gpus_in(std::span<const GpusOnMachine> machines) {
    std::int32_t sum = 0;
    for (const GpusOnMachine& one : machines) sum += one.gpus;
    return sum;
}

}  // namespace

ShareChange share_change(const TransitionCosts& costs, const SaveRule& saves,
                         const ShareBefore& before, const HeldShare& now) {
    const std::int32_t workers = gpus_in(now.machines);
    std::vector<GpusOnMachine> still(before.with_model.begin(), before.with_model.end());
    keep_models_on(now.machines, still);
    const std::int32_t kept = gpus_in(still);
    ShareChange change;
    const bool is_the_same = kept == workers && kept == gpus_in(before.with_model);
    if (is_the_same && !before.changing) return change;
    if (kept > 0 && !costs.whole_program) {
        change.kept = kept;
        const bool grows = kept < workers;
        change.phases =
            phase_times(costs, grows ? GroupChange::grow : GroupChange::shrink, workers, kept);
        if (grows) change.overlapped = costs.overlapped_spawn;
        return change;
    }
    change.phases = phase_times(costs, GroupChange::start, workers, 0);
    of(change.phases, TransitionPhase::spawn) += costs.overlapped_spawn;  // nobody trains meanwhile
    if (!before.begun) return change;
    change.loses_unsaved = costs.whole_program && !costs.saves_first;
    const bool drains = before.unsaved && !change.loses_unsaved;
    if (drains) of(change.phases, TransitionPhase::drain) = saves.takes;
    of(change.phases, TransitionPhase::transfer) += saves.restore;
    return change;
}

void keep_models_on(std::span<const GpusOnMachine> held, std::vector<GpusOnMachine>& with_model) {
    for (GpusOnMachine& one : with_model) {
        const auto same = std::ranges::find(held, one.machine, &GpusOnMachine::machine);
        one.gpus = same == held.end() ? 0 : std::min(one.gpus, same->gpus);
    }
    std::erase_if(with_model, [](const GpusOnMachine& one) { return one.gpus == 0; });
}

records::Cause cause_of(policies::TransitionPhase phase) {
    return phase == TransitionPhase::drain ? records::Cause::checkpoint
                                           : records::Cause::transition;
}

Duration first_start(const TransitionCosts& costs, std::int32_t gpus) {
    return costs.overlapped_spawn +
           records::sum_of(phase_times(costs, GroupChange::start, gpus, 0));
}

}  // namespace ukemi::sim
