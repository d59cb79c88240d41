// learner_device.hpp — where learners compute: several replicas of one model on one GPU, each with
// a stream of its own, or all batched together; or, for everything that is not about GPUs, the same
// on CPU threads.
//
// A learner does one task at a time, and what is started on it happens in that order. A task is the
// gradient of its batch at the learner's weights and Crossbow's step (Koliousis et al., VLDB'19,
// Alg. 1): c = α(w − z), w ← w − lr v − c; c is kept in a slot until the clock ends. A
// synchronisation adds the slots of a clock in their order, lets GPUs exchange the sum, and steps
// the central model: z ← z + Σ c + μ(z − z_prev). Learners are made when they are first wanted,
// from the central model, and kept for the next time when they are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/element_rules.hpp"
#include "kernels/learners/input_pipeline.hpp"
#include "kernels/model.hpp"

namespace ukemi::kernels {

class LearnerDevice {
public:
    virtual ~LearnerDevice() = default;

    virtual std::size_t parameters() const = 0;
    // For batches: as near to the device as host memory can be.
    virtual std::shared_ptr<std::byte> pinned(std::size_t bytes) = 0;

    // Whether it computes the tasks of all learners in use together: it begins when each of them
    // has one, so learners cannot run ahead of each other (slack 0).
    virtual bool batched() const { return false; }

    // Learners 0 … count − 1 can be used from now on. Between clocks only.
    virtual void use_learners(int count, std::size_t slots) = 0;
    virtual int learners_made() const = 0;

    struct Step {
        MomentumRule rule;
        float pull = 0.1F;  // α
    };
    // `done` is called once, from some thread; the batch stays until then, or until `settle`. If
    // the device fails, `done` may never be called.
    using Done = std::function<void(const BatchResult&)>;
    virtual void start(int learner, const InputBatch& batch, const Step& step, std::size_t slot,
                       Done done) = 0;

    // Sums the devices' corrections; null on a single one.
    using Exchange = std::function<Outcome(std::span<float>)>;
    // After the tasks of slots [first, first + count) are done; others may be under way, and take
    // the central model before or after, never between. Nothing has changed if it is not ok.
    virtual Outcome synchronise(std::size_t first, std::size_t count, float momentum,
                                const Exchange& exchange) = 0;

    // Throws if the device has failed, so that who waits for a `done` does not wait for ever.
    virtual void throw_if_failed() {}
    // After a start or a synchronisation that threw: forgets what has been given and has not
    // begun, and returns when no batch is read any more. A `done` may still be called afterwards.
    virtual void settle() noexcept = 0;

    virtual std::vector<float> central() = 0;
    virtual std::vector<float> weights(int learner) = 0;  // of one that does nothing now
    // Every learner begins anew at this model; it becomes the central one. Its momentum is what it
    // has from the model before it: none if they are one.
    virtual void restart(std::span<const float> weights, std::span<const float> previous) = 0;
};

// `model` and its data's shape; outlives the device. Each learner is a thread.
std::unique_ptr<LearnerDevice> make_cpu_device(const Model& model, std::int32_t features,
                                               std::int32_t classes,
                                               std::span<const float> weights);

}  // namespace ukemi::kernels
