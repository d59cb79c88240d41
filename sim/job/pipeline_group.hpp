// pipeline_group.hpp — carries out what pipelines.hpp orders: meetings, takeovers, new places.
#pragma once

#include <span>
#include <vector>

#include "records/transition_phases.hpp"
#include "sim/job/pipelines.hpp"
#include "sim/job/run_parts.hpp"
#include "sim/job/transition_costs.hpp"

namespace ukemi::sim {

// Who has the machines and the group that trains, as far as pipelines need it.
class GroupKeeper {
public:
    virtual ~GroupKeeper() = default;
    virtual void disband() = 0;  // the training group, at this moment
    virtual void form(std::vector<Instance*>& group) = 0;
    // Nothing trains: those that are called wait for each other, for so long.
    virtual void gather(std::span<Instance* const> called, const records::PhaseTimes& phases) = 0;
};

class PipelineGroup {
public:
    // `keeper` outlives it; the job has pipelines.
    PipelineGroup(const RunParts& parts, GroupKeeper& keeper);

    void started(Instance& instance);  // its worker can take a place from now on
    // A machine with a place, or a spare, is about to go. What its neighbour can take over does
    // not end the step in progress. The order is to be carried out once the machine is gone.
    PipelineOrder lost(Instance& instance);
    bool ends(PipelineOrder order) const { return pipelines_.ends(order); }  // all that trains
    void given_back(InstanceId id);
    void carry_out(PipelineOrder order);
    bool met(const MeetingOver& event);  // false where the work is done meanwhile
    void at_boundary();                  // do they meet?
    void end() { ended_ = true; }        // the run is over: orders are no longer carried out

    bool meeting_ends_now() const;
    Instant model_lost_at() const;  // by what is announced; never() if it will survive
    const records::PipelineCounts& counts() const { return pipelines_.counts(); }

private:
    policies::Layout wanted_layout() const;
    void call_together(bool of_all);
    void form();

    RunParts parts_;
    GroupKeeper& keeper_;
    Pipelines pipelines_;
    TransitionCosts change_costs_;
    std::vector<Instant> meetings_end_;     // of those that are under way
    RunQueue::Ticket meeting_due_;          // the last of them
    Instant called_at_ = Instant::never();  // when, and whether of all
    bool called_all_ = false;
    bool ended_ = false;
};

}  // namespace ukemi::sim
