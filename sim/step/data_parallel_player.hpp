// data_parallel_player.hpp — a step of replicas that compute the whole model in one pass after
// another, and send their gradients.
//
// A bucket that all workers have is sent when the launch rule says so, while the rest of the
// backward pass goes on. (A ring in truth begins where workers are ready first; as it cannot end
// before the last one has joined, that is neglected.) Encoding a bucket needs the GPU and the host
// that the backward pass needs, so the rest of that waits for it; decoding comes after the pass.
// (Both beside the pass were slower still: arXiv:2103.00543.) What measures gradients comes last.
#pragma once

#include <optional>

#include "sim/step/gradient_sender.hpp"
#include "sim/step/step_player.hpp"

namespace ukemi::sim {

class DataParallelPlayer final : public StepPlayer {
public:
    DataParallelPlayer(StepHost& host, const StepJob& job, const StepOptions& options);

    void woken(std::uint64_t token, Instant now) override;
    void arrived(std::uint64_t token, Instant now) override;

private:
    void play_step(Instant begin) override;
    void plan_buckets(Instant computed, Duration longest);
    void end_if_done(Instant now);

    StragglerDraws draws_;
    std::optional<GradientSender> sender_;  // none: nothing is sent
    Duration encoding_;                     // of all buckets
    bool computed_ = false;
    std::optional<Instant> gathered_at_;  // when all gradients had arrived, and are measured
    bool updating_ = false;
};

}  // namespace ukemi::sim
