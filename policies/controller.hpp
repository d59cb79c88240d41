// controller.hpp — one job's policies, its Plan, the order of hooks and the accounting of samples.
//
// A plain object without a thread or a loop: a simulator, a live runtime and somebody's own
// training loop drive it alike. The world asks `propose` at a boundary; if a Plan comes back it
// carries it out on every worker or on none and says `committed` or `discarded`; until then it does
// not ask again. All policies asked at one boundary see the same Observation, and the knobs they
// turn merge into one next version. A Decision is checked here and nowhere else, all or none.
//
// Step and epoch hooks, for a world that trains many steps between two looks:
//
//     for (;;) {                                       // at a step boundary, also the very first
//         while (const auto hook = controller.next_hook()) {
//             if (auto plan = controller.propose(*hook, seen)) …        // committed or discarded
//         }
//         if (controller.finished()) break;
//         … train for at most controller.steps_until_hook(workers) steps …
//         controller.steps_finished(steps, workers);
//     }
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

namespace ukemi::policies {

// What one policy said when it was asked.
struct PolicyAnswer {
    std::string_view policy;
    Decision decision;
};

// Everything about one question, for a log. References are valid during the call.
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
    const Predictor& predictor() const { return *predictor_; }
    bool has_hook(Hook hook) const { return hooks_.has(hook); }
    bool looks_at_ages() const;     // some policy needs Observation::spot_since
    bool looks_at_workers() const;  // some policy needs worker_views
    // The earliest moment at which a policy asked to be asked again; never() if none did.
    Instant ask_at() const { return ask_at_; }
    std::string_view asks_first() const;  // the policy of that moment; empty if there is none
    Instant machines_ask_at() const;  // the same of policies that decide what is bought, or where
    std::int64_t refused_count() const { return refused_count_; }
    const std::string& first_refusal() const { return first_refusal_; }  // empty: none yet

    // How many more steps, at least 1, until the next boundary at which next_hook has something to
    // ask; counted from this boundary, whose own hooks come first. It holds for these workers and
    // the present Plan. Nothing if no policy looks at steps or epochs, or if the work is done.
    std::optional<std::int64_t> steps_until_hook(std::int32_t workers) const;

    // Steps that every worker finished since the last report, with `workers` training.
    void steps_finished(std::int64_t steps, std::int32_t workers);
    // The same where steps used `samples` in all, and not what the Plan says: the last batch of an
    // epoch may be smaller.
    void uneven_steps_finished(std::int64_t steps, std::int64_t samples);
    // The model went back to an older state: what came after is to be done again.
    void rolled_back(std::int64_t samples, std::int64_t steps);
    // Where the work is not a number of samples: what seems to be left of it under the present
    // Plan. Zero ends it.
    void work_is_left(std::int64_t samples);
    // Takes up the accounting of a run that is resumed from a checkpoint or fed in from a log.
    void resume_at(std::int64_t samples, std::int64_t steps);

    // What to ask next at this step boundary; nothing when all has been asked, until steps are
    // finished or rolled back. KungFu's order: after_step, and after_epoch if the last step ended
    // one, in reverse; then before_epoch if the next step begins one, and before_step. An epoch
    // ends with the first step that reaches a multiple of its samples; without epochs the job is
    // one. Nothing comes before a step that is not to be taken: a finished job has only after_*.
    // Hooks that no policy has, or none has now (`every_steps`), are left out. Steps done again
    // after a loss are asked about again; a step that was torn is not. After a loss that leads into
    // an earlier epoch, before_epoch is asked there, in its midst; and before_step is, at whatever
    // step, of who was asked about a later one: what was chosen then does not stay.
    std::optional<ControlEvent> next_hook();

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
        std::int64_t every_steps = 1;
        bool went_back = false;  // before a step that before_step has been asked about
        Instant ask_at = Instant::never();
    };
    // The hooks of one boundary, in order.
    enum class Boundary : std::uint8_t { after_step, after_epoch, before_epoch, before_step, past };

    std::int64_t epochs_in(std::int64_t samples) const;  // whole ones
    bool step_hook_due(Hook hook) const;
    bool due(Boundary at) const;
    void ask_all(const ControlEvent& event, const Observation& seen);
    bool is_turn(const Slot& slot, Hook hook) const;  // of one of the step hooks
    bool is_asked(const Slot& slot, const ControlEvent& event) const;
    void ask(Slot& slot, const ControlEvent& event, const Observation& seen, const Plan& plan);
    const Plan& plan_as_bought(const Plan& before);
    const Plan* merge(std::string& refused);

    Plan plan_;
    Plan next_;
    Plan bought_;  // kept for its memory
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
    Boundary boundary_ = Boundary::before_epoch;  // what next_hook looks at next
    std::int64_t epoch_ = 0;                      // that training is in
    bool epoch_begun_ = false;                    // its before_epoch was asked, or nobody has one
    std::int64_t refused_count_ = 0;
    std::string first_refusal_;
    std::vector<PolicyAnswer> answers_;
};

}  // namespace ukemi::policies
