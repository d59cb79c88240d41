// layout_work.hpp — what a layout makes each worker compute and send in one micro-batch.
//
// Workers are tensor × data × pipeline; ranks are numbered tensor first, then data, then pipeline,
// as Megatron-LM numbers them, so that tensor groups share machines. Stage s of the model is on
// pipeline rank s mod p. layout_plan.hpp makes these values from a model.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantity.hpp"
#include "policies/plan.hpp"
#include "sim/step/buckets.hpp"
#include "sim/step/pipeline.hpp"

namespace ukemi::sim {

enum class ExchangeKind : std::uint8_t {
    tensor_all_reduce,  // of so many bytes over a tensor group
    // Over the replicas of a stage, all of which must have come to it:
    all_reduce,      // of so many bytes
    all_gather,      // each replica brings so many bytes, and has all of them afterwards
    reduce_scatter,  // the reverse: each replica ends with so many bytes, summed over all
    all_to_all,      // each replica has so many bytes, in equal parts for all
};

// Computed in one go, and what is exchanged before the next one may begin.
struct ModelBlock {
    double share = 0;            // of StepJob::compute
    double gradients_ready = 0;  // backward: of the stage's, in the order of its buckets, 0 to 1
    std::optional<ExchangeKind> exchange = {};
    Bytes bytes = {};
    double launch_share = 0;  // of StepJob::compute: what the host needs to launch it
};

struct StageWork {
    std::vector<ModelBlock> forward;
    std::vector<ModelBlock> backward;  // in the order in which they are computed
    Bytes activations;                 // that each tensor rank sends to its peer of the next stage
    std::vector<GradientBucket> buckets;  // of one tensor rank
};

struct LayoutWork {
    policies::Layout degrees;
    PipelineKind schedule = PipelineKind::one_forward_one_backward;
    std::int32_t chunks = 1;
    std::vector<StageWork> stages;      // pipeline × chunks
    std::vector<double> update_shares;  // of StepJob::update, by pipeline rank; none: all nothing
    // Of exchanges between replicas.
    policies::Collective exchange_collective = policies::Collective::ring;

    std::int32_t workers() const { return degrees.tensor * degrees.data * degrees.pipeline; }
    std::int32_t rank(std::int32_t tensor, std::int32_t replica, std::int32_t stage_rank) const {
        return tensor + degrees.tensor * (replica + degrees.data * stage_rank);
    }
    PipelineSpec pipeline(std::int64_t micro_batches) const {
        return {schedule, degrees.pipeline, static_cast<std::int32_t>(micro_batches), chunks};
    }
};

}  // namespace ukemi::sim
