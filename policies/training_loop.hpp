// training_loop.hpp — adapts somebody's own training loop: report each step, get a Plan or nothing.
//
//     TrainingLoopSetup setup;
//     setup.policies = R"({"policies": [{"name": "noise_scale_resize", "every_steps": 50},
//                                       {"name": "periodic_checkpoint", "interval": "5 min"}]})";
//     setup.plan.workers_max = 2;            // and everything else that the first Plan says
//     setup.plan.batch_per_learner = 32;
//     setup.capabilities.knobs = {Knob::count, Knob::workers, Knob::checkpoint_interval};
//     setup.capabilities.instances_max = 8;  // what the loop can turn, and how far
//     setup.samples_total = 1'000'000;
//     TrainingLoop loop(setup);
//     auto plan = loop.start(now());
//     for (;;) {
//         while (plan) {                     // on every worker or on none
//             plan = carry_out(*plan) ? loop.committed(now()) : loop.discarded("why", now());
//         }
//         if (loop.finished()) break;
//         plan = loop.step(train_one_step(loop.plan()));
//         if (loop.checkpoint_due()) { save(); loop.saved(); }
//     }
//     loop.stop(now());
//
// It owns a Controller and calls its hooks in their order (policies/controller.hpp). Between steps
// anything else may be told: `loop.seen().notices.push_back(…)` and then
// `plan = loop.event(EventKind::revocation_notice, now())`. A Plan is a value to be carried out at
// this step boundary; until it is committed or discarded plan() is the old one and nothing else is
// asked (events are kept until then). Times are those of the run's own clock, which never runs
// backwards.
//
// One thread at a time. Wrong policies are an InputError, a call out of turn a broken invariant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/controller.hpp"
#include "policies/predictor_choice.hpp"

namespace ukemi::policies {

struct TrainingLoopSetup {
    std::string policies;  // JSON: {"policies": [{"name": …, its parameters…}, …]}
    Plan plan;             // the first
    Capabilities capabilities{"own training loop", {}, 1, 1, 1, 1, every_hook};
    // What policies that look ahead are told of the job's speed and pauses, until the steps that
    // are reported tell better. Without any throughput it is a step a second at any size; of a Plan
    // with a batch a worker, the steps of `throughput` are of more samples the more workers.
    JobProfile profile;
    PredictorChoice predictor{PredictorKind::calibrated};
    std::uint64_t seed = 0;
    std::int64_t samples_total = 0;
    std::int64_t samples_per_epoch = 0;  // zero: one epoch
    Instant deadline = Instant::never();
    ControllerLog* log = nullptr;  // outlives the loop; records/decision_log.hpp has one
};

JobProfile profile_of(const TrainingLoopSetup& setup);  // with the default put in

// A policy as the setup names it.
struct NamedPolicy {
    std::string name;        // never an alias
    std::string parameters;  // a JSON object
    std::unique_ptr<Policy> policy;
};
// InputError with the JSON path for what is no such list of policies.
std::vector<NamedPolicy> policies_from_json(std::string_view text);

struct FinishedStep {  // by all workers together
    Instant now;       // when it was over
    Duration duration;
    std::int32_t workers = 1;  // that took part
    std::int64_t samples = 0;  // used by all; zero: as many as the Plan says
    double loss = 0;           // what is not measured stays zero
    GradientStatistics gradient;
    ExchangeView exchange;
    std::vector<WorkerView> worker_views;  // empty: `duration` holds for each
};

class TrainingLoop {
public:
    explicit TrainingLoop(TrainingLoopSetup setup);
    ~TrainingLoop();

    const Plan& plan() const;  // as committed
    std::int64_t steps_done() const;
    std::int64_t samples_done() const;
    bool finished() const;
    bool awaiting_commit() const;

    // What the policies are shown. Its owner may set what concerns the market, the fleet and the
    // phase; what step(), saved() and the Controller say is overwritten.
    Observation& seen();

    // Each answers with a Plan to carry out, or with nothing: go on training.
    std::optional<Plan> start(Instant now);  // once, before the first step
    std::optional<Plan> step(const FinishedStep& step);
    std::optional<Plan> event(EventKind kind, Instant now);  // of several the most urgent is told
    std::optional<Plan> committed(Instant now);
    std::optional<Plan> discarded(std::string_view why, Instant now);
    std::optional<Plan> rolled_back(Instant now);  // to what was saved last, or to the beginning
    void stop(Instant now);                        // once, after the last step

    // Whether the Plan's interval has passed in training since the last checkpoint.
    bool checkpoint_due() const;
    void saved();  // a checkpoint of the model as it is now

private:
    std::optional<Plan> go_on(Instant now);

    std::unique_ptr<Controller> controller_;
    Observation seen_;
    EventKind pending_ = EventKind::none;
    bool started_ = false;
    std::int64_t steps_safe_ = 0;
    Duration trained_since_saved_;
};

}  // namespace ukemi::policies
