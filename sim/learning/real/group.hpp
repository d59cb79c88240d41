// group.hpp — virtual workers that train one model with true gradients: their state, and a step.
//
// The state is a value: training can go on from any copy of it, and equal states and equal steps
// give equal bits on a given binary with any number of threads. A step's samples are
// the next ones of the sample order (kernels/sample_order.hpp), shared by learner as live workers
// share them by rank; a learner is one replica, of which a worker may have several.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/averaging.hpp"
#include "kernels/model.hpp"
#include "kernels/replica.hpp"
#include "kernels/sample_order.hpp"
#include "sim/learning/learning_model.hpp"

namespace ukemi::sim {

// How learners are kept together: the Plan says which way, this says what is meant by it. What a
// rule does not use is left alone.
struct SynchronisationSettings {
    std::string rule = "s_sgd";  // stands for its kind of synchronisation (rule_for in rules.hpp)
    double averaging_rate = 0;   // α; 0: 1/k (synchronous), 0.9/k (elastic), 0.1 (KungFu's)
    double averaging_momentum = 0;  // μ of the central model (synchronous)
    std::int64_t period = 1;        // elastic averaging, local SGD: an exchange every so many steps
    bool uniform_peers = false;     // pair averaging: else KungFu's choice
    std::int64_t change_step = 0;   // AdaSGD: S-SGD from it on
    std::int64_t clock_lead_max = kernels::staleness_unbounded;  // stale-synchronous server
    bool by_staleness = false;                                   // of a server: η ÷ staleness
    std::int32_t backups = 0;    // slowest learners that a step leaves out
    double straggling = 0;       // coefficient of variation of the learners' step times, lognormal
    bool error_feedback = true;  // of whatever codec gradients go by, where it contracts
    friend bool operator==(const SynchronisationSettings&,
                           const SynchronisationSettings&) = default;
};

struct GroupState {
    struct Learner {
        std::vector<float> weights;
        std::vector<float> velocity;
    };
    std::int64_t steps = 0;     // made
    std::int64_t position = 0;  // samples used
    double rate = 0;            // learning rate of the last step; 0 before the first
    kernels::NoiseAverages noise;
    std::vector<float> common;             // the model that is meant and evaluated, by the rule
    std::vector<float> velocity;           // of `common`, where learners share one optimiser
    std::vector<float> common_before;      // of a central model: z before the last step
    std::vector<Learner> learners;         // replicas; empty where all have `common`
    std::int32_t group = 0;                // learners of the last step; 0 before the first
    std::int32_t learners_per_worker = 1;  // of the last step
    Members members;                       // of the last step; null: not said
    policies::Synchronisation synchronisation =
        policies::Synchronisation::s_sgd;           // of the last step
    policies::Codec codec = policies::Codec::none;  // of the last step
    double codec_level = 0;
    std::vector<float> codec_shared;       // its warm start, the same on all learners
    std::vector<std::vector<float>> kept;  // by learner: what has not arrived; empty: nothing
    double codec_error = 0;                // of the last step; 0 without a codec
    double applied_squared_norm = 0;  // |mean gradient|² as it arrived; 0 where none is common
    std::optional<kernels::ParameterServer> server;
    std::vector<std::int64_t> finish;  // when each learner pushes next; −1: it waits for others
};

struct RealTask {  // constant, shared by all runs
    kernels::DataSet training;
    kernels::DataSet test;
    std::unique_ptr<kernels::Model> model;
    kernels::OptimiserSettings optimiser;
    SynchronisationSettings synchronisation;
    double noise_smoothing = 0.99;
};

class GroupCodecs;  // all learners' codecs (group_codecs.hpp)

// What a rule works with in one step. Buffers stay between steps.
class GroupStep {
public:
    GroupStep(const RealTask& task, std::uint64_t seed);
    ~GroupStep();

    void begin(const LearningStep& settings, std::int64_t step, std::int64_t position);

    const RealTask& task() const { return *task_; }
    std::uint64_t seed() const { return seed_; }
    std::int64_t step() const { return step_; }
    int learners() const { return learners_; }
    std::int64_t batch() const { return static_cast<std::int64_t>(samples_.size()); }
    float rate() const { return rate_; }
    kernels::MomentumRule rule() const;  // of the local optimiser
    std::size_t parameters() const { return task_->model->parameter_count(); }

    // The mean gradient over the samples of this part of the batch, of so many equal parts; zeros
    // if it has none. Valid until the next call for the same part.
    struct Part {
        std::span<const float> mean;
        std::int64_t samples = 0;
    };
    Part gradient(int part, int parts, std::span<const float> weights);
    // Mean over the whole batch, all parts at the same weights, those that `counted` leaves out
    // excepted (empty: none), and what their norms say about the noise.
    std::span<const float> mean_gradient(std::span<const float> weights, GroupState& state,
                                         std::span<const int> counted = {});

    // The same of all learners, by the step's codec. What they kept of earlier gradients is in it,
    // with a codec or without.
    std::span<const float> exchanged_mean(std::span<const float> weights, GroupState& state);

    // The time that a learner's step takes, in millionths of the mean.
    std::int64_t step_time(int learner, std::int64_t step) const;

private:
    bool keeps_rest(policies::Codec codec) const;  // error feedback
    void prepare_codecs(const GroupState& state);
    void add_kept(GroupState& state);
    void code_gradients(GroupState& state);
    void note_noise(GroupState& state, std::span<const kernels::LocalNorm> norms);

    const RealTask* task_;
    std::uint64_t seed_;
    kernels::SampleOrder order_;
    std::unique_ptr<kernels::Model::Workspace> workspace_;
    std::vector<std::uint32_t> samples_;
    std::vector<std::vector<float>> parts_;  // gradients
    std::vector<float> mean_;
    std::int64_t step_ = 0;
    int learners_ = 1;
    float rate_ = 0;
    std::unique_ptr<GroupCodecs> codecs_;  // of the last codec
};

double squared_norm(std::span<const float> values);

// The state before the first step.
GroupState first_state(const RealTask& task, std::uint64_t seed);
// One step under `settings`. Where the learners are others or of another number, all begin anew
// from the common model, as after Crossbow's restart; so they do when the synchronisation is
// another than in the last step, with no momentum left (after pair averaging from rank 0's model,
// as live workers do). What error feedback kept goes on with the worker whose it is (by its place,
// where nobody says who the members are), joins the next gradient whatever codec that one goes by,
// and is dropped by a rule that sends no gradients.
void take_step(GroupState& state, GroupStep& step, const LearningStep& settings);
// Over all bits that the next step depends on.
std::uint64_t digest_of(const GroupState& state);
kernels::BatchResult evaluated(const RealTask& task, const kernels::DataSet& data,
                               std::span<const float> weights);

}  // namespace ukemi::sim
