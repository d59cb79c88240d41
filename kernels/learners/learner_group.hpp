// learner_group.hpp — the learners of one worker process, and how they follow its replica.
//
// The worker's Replica keeps what all workers share: the central model, the one before it, the
// count of steps. What is here is the worker's own: its learners' weights and velocities, on a
// LearnerDevice. Whenever the replica is not where the learners' last committed step left it (a
// newcomer's, one read from a checkpoint, one whose last step was undone or failed), all learners
// begin anew at its central model (Crossbow's restart), so no loss and no failure has to reach into
// the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/learners/learner_engine.hpp"

namespace ukemi::kernels {

struct LearnerOrder {
    int learners = 1;
    std::int64_t batch = 1;           // of each
    std::int64_t position = 0;        // in the sample order, of the first learner's first sample
    std::int64_t samples_of_all = 0;  // that a step of all workers uses
    std::uint64_t seed = 0;           // of the sample order
    LearnerDevice::Step step;
    float central_momentum = 0;
    // Where the replica is: learners that are somewhere else begin anew.
    std::int64_t steps_done = 0;
    std::span<const float> central;
    std::span<const float> central_previous;
    bool restart = false;  // they begin anew in any case
};

struct LearnersDone {
    Outcome outcome = Outcome::ok;            // not ok: the replica stays as it is
    BatchResult sum;                          // over the learners' samples
    std::chrono::nanoseconds input_waited{};  // by learners that had no batch
};

class LearnerGroup {
public:
    using MakeDevice = std::function<std::unique_ptr<LearnerDevice>(std::span<const float>)>;
    // `data` outlives it. The device is made when learners are first wanted.
    LearnerGroup(const DataSet& data, MakeDevice make_device, int input_threads = 1);
    ~LearnerGroup();
    LearnerGroup(const LearnerGroup&) = delete;
    LearnerGroup& operator=(const LearnerGroup&) = delete;

    // One step of each learner, slack 0, task t on learner t: then `exchange` gets the sum of their
    // corrections, in their order, and leaves in it the sum over all workers. Equal orders and
    // exchanges give equal bits.
    LearnersDone run(const LearnerOrder& order, const LearnerDevice::Exchange& exchange);
    // The replica has made the step that `run` did last, and is at this central model now. Without
    // this call the next run begins anew.
    void committed(std::int64_t steps_done, std::span<const float> central,
                   std::span<const float> central_previous);
    std::vector<float> weights(int learner) { return device_->weights(learner); }

private:
    bool is_there(const LearnerOrder& order) const;
    void prepare(const LearnerOrder& order);

    const DataSet& data_;
    MakeDevice make_device_;
    int input_threads_;
    std::unique_ptr<LearnerDevice> device_;
    std::unique_ptr<InputPipeline> input_;
    std::unique_ptr<LearnerEngine> engine_;  // destroyed first
    LearnerOrder last_;                // what input and engine were made for; its spans are void
    std::int64_t next_position_ = -1;  // of the input
    const LearnerDevice::Exchange* exchange_ = nullptr;  // of the run under way
    // Where the replica was after the last committed step; none: the learners are not to be used.
    std::optional<std::int64_t> steps_done_;
    std::vector<float> central_;
    std::vector<float> central_previous_;
};

// Learners as threads of this process.
LearnerGroup::MakeDevice cpu_learners(const Model& model, const DataSet& data);

}  // namespace ukemi::kernels
