// group_watch.hpp — the steps that one unchanged group of workers takes, as a policy sees them.
//
// A policy that compares throughputs must not mix two groups, nor count the time in which a group
// was formed. A restart is any change of the workers that train, a pause of theirs that an
// Observation showed, or steps that were lost.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/policy.hpp"

namespace ukemi::policies {

struct GroupSteps {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    Duration time;
};

class GroupWatch {
public:
    // Call it at every hook. Returns the steps since the last look, if the group took any.
    std::optional<GroupSteps> look(const Observation& seen) {
        const bool same = seen.workers == workers_ && seen.steps_done >= steps_;
        const GroupSteps taken{seen.steps_done - steps_, seen.samples_done - samples_,
                               seen.now - now_};
        if (!same) began_at_step_ = seen.steps_done;
        const bool stepped = same && seen.steps_done > steps_;
        if (!same || stepped) {  // else a look in the midst of a step, or before the next one
            workers_ = seen.workers;
            steps_ = seen.steps_done;
            samples_ = seen.samples_done;
            now_ = seen.now;
        }
        if (!stepped || taken.samples <= 0 || taken.time <= Duration{}) return std::nullopt;
        return taken;
    }
    std::int32_t workers() const { return workers_; }
    std::int64_t steps_since_restart() const { return steps_ - began_at_step_; }

private:
    std::int32_t workers_ = 0;
    std::int64_t began_at_step_ = 0;
    std::int64_t steps_ = 0;
    std::int64_t samples_ = 0;
    Instant now_;
};

// A policy of sizes that measures: it looks at every event and step, and answers after steps.
class MeasuringResize : public Policy {
public:
    KnobSet knobs() const override { return {Knob::count, Knob::workers}; }
    HookSet hooks() const override { return {Hook::on_event, Hook::after_step}; }
    Decision on_event(EventKind, const PolicyView& view) override {
        measure(view.seen);
        return {};
    }

protected:
    virtual void measure(const Observation& seen) = 0;
    GroupWatch group_;
};

}  // namespace ukemi::policies
