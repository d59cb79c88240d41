// share_change.hpp — what it takes a job to go on with other GPUs, phase by phase: the costs of the
// same systems as a single job's (sim/job/transition_costs.hpp), with a GPU as a worker.
//
// Who keeps some of its GPUs grows or shrinks around them; who keeps none, and whose system starts
// the whole program anew, goes on from a save. That save is a phase of the change, too: it is
// counted with the new GPUs, as the old ones are others' at once.
#pragma once

#include <span>

#include "records/transition_phases.hpp"
#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

struct ShareChange {
    records::PhaseTimes phases{};  // one after the other, draining first
    Duration overlapped;           // before them: who was kept computes on, the others spawn
    std::int32_t kept = 0;         // GPUs that have the model; 0: it goes on from a save
    bool loses_unsaved = false;    // nothing is saved before
};

struct ShareBefore {
    std::span<const GpusOnMachine> with_model;  // the present one; none: it is nowhere
    bool begun = false;                         // it has computed: else nothing is read back
    bool unsaved = false;
    bool changing = false;  // a change is under way, and called off
};

ShareChange share_change(const TransitionCosts& costs, const SaveRule& saves,
                         const ShareBefore& before, const HeldShare& now);

// Of GPUs that have the model, those on which it still is when only these are held.
void keep_models_on(std::span<const GpusOnMachine> held, std::vector<GpusOnMachine>& with_model);

records::Cause cause_of(policies::TransitionPhase phase);

// What a first start on so many GPUs takes.
Duration first_start(const TransitionCosts& costs, std::int32_t gpus);

}  // namespace ukemi::sim
