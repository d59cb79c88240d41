// controller.hpp — one job's policies, its Plan, the order of hooks and the accounting of samples.
//
// A plain object without a thread or a loop: a simulator, a live runtime and somebody's own
// training loop drive it alike. The world asks `propose` at a boundary; if a Plan comes back it
// carries it out on every worker or on none and says `committed` or `discarded`; until then it does
// not ask again. All policies asked at one boundary see the same Observation, and the knobs they
// turn merge into one next version. A Decision is checked here and nowhere else, all or none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/capabilities.hpp"
#include "policies/policy.hpp"

namespace ukemi {

// What one policy said when it was asked.
struct PolicyAnswer {
    std::string_view policy;
    Decision decision;
};

// Everything about one question, for whoever keeps a log. References are valid during the call.
struct QuestionRecord {
    ControlEvent event;
    const Observation& seen;
    std::span<const PolicyAnswer> answers;  // of the policies asked, in the order of asking
    const Plan* proposed;                   // null: no change
    std::string_view refused;               // why a change was refused, else empty
};

class ControllerLog {
public:
    virtual ~ControllerLog() = default;
    virtual void question(const QuestionRecord& record) = 0;
    virtual void committed(PlanVersion version) = 0;
    virtual void discarded(PlanVersion version, std::string_view why) = 0;
};

struct ControllerSetup {
    Plan plan;  // the first; version 0
    Capabilities capabilities;
    std::vector<std::unique_ptr<Policy>> policies;
    std::unique_ptr<Predictor> predictor;
    const Oracle* oracle = nullptr;
    std::uint64_t seed = 0;
    std::int64_t samples_total = 0;
    std::int64_t samples_per_epoch = 0;  // zero: one epoch
    ControllerLog* log = nullptr;        // outlives the controller
};

// Two policies with one knob, or a knob that the world cannot turn: a sentence that says so, for
// the scenario reader to complain with. Empty if all is well.
std::string policy_conflict(std::span<const std::unique_ptr<Policy>> policies,
                            const Capabilities& capabilities);

class Controller {
public:
    explicit Controller(ControllerSetup setup);  // policy_conflict must be empty

    const Plan& plan() const { return plan_; }
    std::int64_t samples_done() const { return samples_done_; }
    std::int64_t steps_done() const { return steps_done_; }
    std::int64_t samples_total() const { return samples_total_; }
    bool finished() const { return samples_done_ >= samples_total_; }
    bool awaiting_commit() const { return proposed_; }
    bool has_hook(Hook hook) const { return hooks_.has(hook); }
    // The earliest moment at which a policy asked to be asked again; never() if none did.
    Instant ask_at() const { return ask_at_; }
    std::int64_t refused_count() const { return refused_count_; }
    std::int64_t decision_count() const { return decision_count_; }  // non-empty ones

    // Steps that every worker finished since the last report, with `workers` training.
    void steps_finished(std::int64_t steps, std::int32_t workers);
    // The model went back to an older state: what came after is to be done again.
    void rolled_back(std::int64_t samples, std::int64_t steps);
    // Takes up the accounting of a run that is resumed from a checkpoint or fed in from a log.
    void resume_at(std::int64_t samples, std::int64_t steps);

    // Asks the policies. The world has filled its part of `seen`; the accounting is filled in here.
    std::optional<Plan> propose(const ControlEvent& event, Observation& seen);
    void committed(PlanVersion version);
    void discarded(PlanVersion version, std::string_view why);

private:
    struct Slot {
        std::unique_ptr<Policy> policy;
        RandomStream random;
        KnobSet knobs;
        HookSet hooks;
        Instant ask_at = Instant::never();
    };
    void ask(Slot& slot, const ControlEvent& event, const Observation& seen);
    const Plan* merge(std::string& refused);

    Plan plan_;
    Plan next_;
    bool proposed_ = false;
    Capabilities capabilities_;
    std::vector<Slot> slots_;
    std::unique_ptr<Predictor> predictor_;
    const Oracle* oracle_;
    ControllerLog* log_;
    HookSet hooks_;
    Instant ask_at_ = Instant::never();
    std::int64_t samples_total_;
    std::int64_t samples_per_epoch_;
    std::int64_t samples_done_ = 0;
    std::int64_t steps_done_ = 0;
    std::int64_t refused_count_ = 0;
    std::int64_t decision_count_ = 0;
    std::vector<PolicyAnswer> answers_;
};

}  // namespace ukemi
