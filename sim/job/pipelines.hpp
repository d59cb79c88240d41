// pipelines.hpp — machines in pipelines: who computes which stage, who takes over from a machine
// that is lost, when that is fatal, and when all meet to take their places anew.
//
// Each machine also holds, as a shadow, the stage of the one behind it, and takes that over when it
// is lost. A machine with two stages has no shadow left, so the loss of two neighbours is fatal
// (Thorpe et al., NSDI'23), and so is that of all. Without shadows every loss is, and the work goes
// back to its last checkpoint. While too few are left for a pipeline, they hold what they had, and
// losses among them count alike. A value: told what happened, it says what is to be done and does
// nothing itself. Where its authors' simulator does something else than the system that they
// describe, it is followed if the rules say `as_simulated`:
//  - a fatal failure does not stop the steps before the meeting after it has found new places;
//  - meetings overlap: one that ends after another has found places for all has nobody on its list,
//    finds none, and training stops until the next machine comes or the next failure is fatal;
//  - who has a place loses it when too few are left for a pipeline, and while there are none the
//    first stage has none before it: nobody takes it over;
//  - losing a machine without a place slows the others as well, and it still counts as a spare;
//  - times are whole milliseconds, rounded down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "policies/plan.hpp"
#include "records/run_result.hpp"

namespace ukemi::sim {

struct PipelineRules {
    bool takes_over = true;                  // else every loss of a machine with a place is fatal
    std::int32_t takeover_per_mille = 1500;  // of a step, from the first takeover until a meeting
    double overloaded_max = 0.05;  // twice the machines with two stages, of all with a place
    bool as_simulated = false;
};
// A step of that length after a takeover, and how much longer the rest of one in progress takes.
Duration slowed_step(const PipelineRules& rules, Duration step);
Duration slowed_more(const PipelineRules& rules, Duration rest);

struct PipelinePlace {
    std::int32_t pipeline = 0;
    std::int32_t stage = 0;
    friend bool operator==(const PipelinePlace&, const PipelinePlace&) = default;
};

struct PipelineMachine {
    InstanceId id{};
    std::vector<PipelinePlace> places;  // none: a spare; two: its own and one that it took over
};

// What is to be done now.
enum class PipelineOrder : std::uint8_t {
    none,
    slow_down,    // somebody took over
    meet_all,     // nothing trains, or a stage is lost for good: a meeting begins
    meet_within,  // the same among those that are well: for machines that were added or lost
    meet_anew,  // the meeting that has just been called, without one that was called, or with more
    form,       // all have places: train
    stop,       // too few for one pipeline
};

class Pipelines {
public:
    explicit Pipelines(const PipelineRules& rules) : rules_(rules) {}

    const PipelineRules& rules() const { return rules_; }
    const records::PipelineCounts& counts() const { return counts_; }
    std::span<const PipelineMachine> machines() const { return machines_; }  // by ascending id
    std::span<const InstanceId> called() const { return called_; }           // to the next meeting

    PipelineOrder started(InstanceId id);  // it can take a place from now on
    // The same at the very moment at which a meeting was called: it is of this one, too.
    PipelineOrder started_with_others(InstanceId id);
    PipelineOrder lost(InstanceId id);  // meet_all: the failure is fatal
    // Whether what lost() ordered ends the steps, and with them all that is not in a checkpoint.
    bool ends(PipelineOrder order) const {
        return order == PipelineOrder::meet_all && !rules_.as_simulated;
    }
    // The same at the very moment at which a meeting was called: it is of those that are left.
    PipelineOrder lost_with_others(InstanceId id);
    PipelineOrder given_back(InstanceId id);  // by a Plan, at a step boundary
    // At a step boundary, of what the Plan wants: at most `data` pipelines of `pipeline` stages.
    PipelineOrder stepped(const policies::Layout& wanted);
    // The same while nothing trains: a Plan may want what was not wanted before.
    PipelineOrder waited(const policies::Layout& wanted);
    // A meeting is over. If somebody on its list has gone meanwhile, it begins once more.
    PipelineOrder met(bool of_all, const policies::Layout& wanted);

private:
    enum class Status : std::uint8_t { stopped, meeting, running };

    PipelineMachine* find(InstanceId id);
    PipelineMachine* holder_of(const PipelinePlace& place);
    bool anyone_has_a_place() const;
    std::vector<PipelinePlace> take_out(InstanceId id);
    void take_places(std::int32_t stages);
    PipelineOrder call(PipelineOrder meeting);

    PipelineRules rules_;
    records::PipelineCounts counts_;
    std::vector<PipelineMachine> machines_;
    std::vector<InstanceId> called_;
    Status status_ = Status::stopped;
    std::int32_t pipelines_ = 0;
    std::int32_t stages_ = 0;      // of each, and of the last ones while there are none
    std::int32_t spares_ = 0;      // that the last meeting left, or that came since
    std::int32_t overloaded_ = 0;  // with two places
    bool slowed_ = false;
};

}  // namespace ukemi::sim
