// cpu_centre.hpp — what CPU devices have in common: the central model, the slots of corrections,
// and one learner's weights with what its gradient needs. For sources only.
#pragma once

#include <algorithm>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/invariant.hpp"
#include "kernels/averaging.hpp"
#include "kernels/learners/learner_device.hpp"

namespace ukemi::kernels {

class CpuCentre : public LearnerDevice {
public:
    CpuCentre(const Model& model, std::int32_t features, std::int32_t classes,
              std::span<const float> weights)
        : model_(model),
          features_(features),
          classes_(classes),
          central_(std::vector<float>(weights.begin(), weights.end())) {
        INVARIANT(weights.size() == model.parameter_count());
    }

    std::size_t parameters() const override { return model_.parameter_count(); }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override {
        return {new std::byte[bytes], [](std::byte* memory) { delete[] memory; }};
    }

    Outcome synchronise(std::size_t first, std::size_t count, float momentum,
                        const Exchange& exchange) override {
        INVARIANT(first + count <= corrections_.size());
        std::vector<float> sum(parameters(), 0.0F);
        for (std::size_t slot = first; slot < first + count; ++slot) {
            const std::vector<float>& one = corrections_[slot];
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
        }
        if (exchange) {
            const Outcome outcome = exchange(sum);
            if (outcome != Outcome::ok) return outcome;
        }
        const std::unique_lock lock(central_mutex_);
        central_.step(sum, momentum);
        return Outcome::ok;
    }

    std::vector<float> central() override {
        const std::shared_lock lock(central_mutex_);
        return {central_.weights().begin(), central_.weights().end()};
    }

protected:
    struct Work {
        const InputBatch* batch = nullptr;
        Step step;
        std::size_t slot = 0;
        Done done;
    };

    // A learner's replica, and the batch that it was given last.
    struct Replica {
        explicit Replica(const Model& model)
            : weights(model.parameter_count()),
              velocity(model.parameter_count()),
              gradient(model.parameter_count()),
              workspace(model.make_workspace()) {}
        std::vector<float> weights;
        std::vector<float> velocity;
        std::vector<float> gradient;
        std::unique_ptr<Model::Workspace> workspace;
        DataSet data;
        std::vector<std::uint32_t> samples;
    };

    void make_slots(std::size_t slots) {
        corrections_.resize(std::max(slots, corrections_.size()));
        for (std::vector<float>& one : corrections_) one.resize(parameters());
    }
    // What a device does in its copy engine.
    void take_batch(const InputBatch& batch, Replica& replica) const {
        replica.data.count = batch.count;
        replica.data.features = features_;
        replica.data.classes = classes_;
        replica.data.values.assign(batch.values.begin(), batch.values.end());
        replica.data.labels.assign(batch.labels.begin(), batch.labels.end());
        replica.samples.resize(static_cast<std::size_t>(batch.count));
        std::iota(replica.samples.begin(), replica.samples.end(), 0U);
        std::ranges::fill(replica.gradient, 0.0F);
    }
    // With the sum of the batch's gradients in place.
    void step_replica(const Work& work, Replica& replica) {
        const auto count = static_cast<float>(work.batch->count);
        for (float& value : replica.gradient) value /= count;
        std::vector<float>& correction = corrections_[work.slot];
        std::ranges::fill(correction, 0.0F);
        const std::shared_lock lock(central_mutex_);
        averaged_learner_step(work.step.rule, work.step.pull, central_.weights(), replica.gradient,
                              replica.weights, replica.velocity, correction);
    }
    void begin_at_centre(Replica& replica) const {
        central_.restart_learner(replica.weights, replica.velocity);
    }

    const Model& model_;
    const std::int32_t features_;
    const std::int32_t classes_;
    std::shared_mutex central_mutex_;
    CentralModel central_;
    std::vector<std::vector<float>> corrections_;
};

}  // namespace ukemi::kernels
