// training_step.hpp — one synchronous step of one worker: its share of the samples, their gradient,
// the exchange with the others while the backward pass still runs, and the update.
//
// The same code runs in live worker processes (over sockets), in threads of one process (tests)
// and, with one rank, alone. What it measures goes to all ranks with the step, so that every rank
// knows the same metrics afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/gradient_noise.hpp"
#include "kernels/model.hpp"
#include "kernels/replica.hpp"
#include "kernels/sample_order.hpp"
#include "kernels/training_rules.hpp"
#include "policies/plan.hpp"

namespace ukemi::kernels {

// What a rank tells all others with each step: plain data, sent as bytes.
struct StepWord {
    std::uint64_t plan_version = 0;
    std::uint64_t plan_digest = 0;
    std::int64_t step = 0;         // the number of this step, from 0 at the start of the job
    std::uint32_t wants_hold = 0;  // number of the hold request this rank has seen (0: none)
    std::uint32_t rank = 0;
    std::int64_t samples = 0;  // computed by this rank
    double loss_sum = 0;
    double correct = 0;                 // samples classified rightly
    double local_squared_norm = 0;      // |g_local|² of this rank's mean gradient
    double average_squared_norm = 0;    // |ḡ|² of the averaged gradient (as seen by this rank)
    std::int64_t compute_ns = 0;        // forward and backward
    std::int64_t communication_ns = 0;  // busy with collectives, less codec_ns
    std::int64_t exposed_ns = 0;        // waited for collectives after the backward pass was over
    std::int64_t input_ns = 0;
    std::int64_t codec_ns = 0;    // encoding and decoding
    std::int64_t sent_bytes = 0;  // of its messages: what it handed in to be exchanged
    double codec_lost = 0;   // |p − what of p arrived|², p = its gradient + what it had kept
    double codec_whole = 0;  // |p|²
    std::int32_t host = 0;   // of this rank, as Communicator::hosts has it
    // What this rank has measured before this step (link_probe.hpp), if it has: round_trip > 0.
    std::int32_t link_host = 0;  // to whom
    std::int64_t link_round_trip_ns = 0;
    double link_bytes_per_second = 0;
};

struct StepReport {
    std::vector<StepWord> words;  // by rank
    std::int64_t samples = 0;     // of all ranks together
    double loss = 0;              // mean over them, before the update
    double accuracy = 0;
    // Of this step alone, from all ranks' local gradients and their average: gradient_noise.hpp.
    // Known with S-SGD and at least two ranks that have samples; not where a codec leaves less of
    // the average than half precision does.
    bool noise_measured = false;
    double squared_norm = 0;      // |G|² of the true gradient; unbiased, so it may be negative
    double covariance_trace = 0;  // tr Σ of one sample's gradient
    // tr Σ ÷ |G|², each smoothed over the steps so far, in samples; 0 while it has no meaning. The
    // averages are part of the replica: they are undone, saved and sent to joiners with it.
    double noise_scale = 0;
    double average_squared_norm = 0;  // |ḡ|² of the averaged gradient, as it arrived; S-SGD
    // √(Σ|p − what of p arrived|² ÷ Σ|p|²) over all ranks; 0 without a codec.
    double codec_error = 0;
    // All ranks have seen this hold request (0: not all have the same): stop after this step.
    std::uint32_t hold = 0;
};

enum class LaunchMode : std::uint8_t { by_name, coordinated };  // see launcher.hpp

struct StepSettings {
    std::size_t bucket_bytes = 1 << 20;
    LaunchMode launch = LaunchMode::by_name;
    std::uint64_t seed = 0;      // of the sample order, of the pairs and of codecs' draws
    bool error_feedback = true;  // where the codec contracts
    double noise_smoothing = noise_smoothing_kungfu;
    // Links between hosts are measured in the first steps of a group and again from each of so many
    // on; 0: never. Not part of what is trained.
    std::int64_t link_steps = 0;
};

struct StepResult {
    Outcome outcome = Outcome::ok;   // not ok: nothing was applied, the replica is as before
    StepReport report;               // if ok
    int suspect = -1;                // else
    bool plan_disagreement = false;  // ranks came with different (version, digest): outcome aborted
};

class LearnerGroup;

class TrainingStep {
public:
    // References outlive this object, and so do `learners`: who has a replica each where
    // synchronous averaging has several of them. Null: threads of its own, which do not outlive the
    // group.
    TrainingStep(const Model& model, const DataSet& data, Communicator& peers,
                 StepSettings settings, LearnerGroup* learners = nullptr);
    ~TrainingStep();
    // Positions [position, position + n) of the sample order are used, n = samples of one step of
    // `peers.size` workers under `plan`; each rank takes a contiguous share by its rank, and works
    // through it in accumulation × learners_per_gpu micro-batches; with synchronous averaging each
    // of several learners takes a step of its own (learners/learner_group.hpp), and workers
    // exchange the sum of their corrections. training_refusal must be empty.
    //
    // When the synchronisation is another than in the replica's last step, or the learning rate of
    // synchronous averaging has dropped (Crossbow), all replicas start anew from one model as part
    // of this step: the central model after synchronous averaging, rank 0's after pair averaging,
    // the common one after S-SGD. Ranks whose Plans differ in what is exchanged (synchronisation,
    // collective, codec) cannot meet at all: they time out. With a codec, what error feedback keeps
    // is part of the replica; a step that goes without one (another codec, or nobody to send to)
    // adds it to its gradient.
    StepResult run(Replica& replica, const policies::Plan& plan, std::uint64_t plan_digest,
                   std::int64_t step, std::int64_t position, std::uint32_t hold_seen);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ukemi::kernels
