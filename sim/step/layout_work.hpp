// layout_work.hpp — what a layout makes each worker compute and send in one micro-batch.
//
// Workers are tensor × context × data × pipeline; ranks are numbered in this order, as Megatron-LM
// numbers them, so that tensor groups share machines. Stage s of the model is on
// pipeline rank s mod p. layout_plan.hpp makes these values from a model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/quantity.hpp"
#include "policies/plan.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/buckets.hpp"
#include "sim/step/pipeline.hpp"

namespace ukemi::sim {

enum class ExchangeKind : std::uint8_t {
    tensor_all_reduce,  // of so many bytes over a tensor group
    // Keys and values of so many bytes on each rank, past all ranks that divide a sample's tokens,
    // while attention computes with those that are there (Liu et al. 2023, ring attention).
    context_ring,
    // Over a context group, before or after its scores are computed:
    context_gather,      // each rank brings so many bytes, and has all of them afterwards
    context_scatter,     // the reverse: each ends with so many bytes, summed over all
    context_all_to_all,  // each has so many bytes, in equal parts for all
    // What each tensor rank has of so many bytes, past all of them, while the product computes with
    // what is there; and the reverse, sums of what it has computed.
    tensor_gather,
    tensor_scatter,
    // Over the replicas of a stage, all of which must have come to it:
    all_reduce,      // of so many bytes
    all_gather,      // each replica brings so many bytes, and has all of them afterwards
    reduce_scatter,  // the reverse: each replica ends with so many bytes, summed over all
    all_to_all,      // each replica has so many bytes, in equal parts for all
    broadcast,       // one has so many bytes, and all have them afterwards
    // Over an expert group: tokens of so many bytes on each rank, in equal parts for all, by each
    // tensor rank for itself.
    token_all_to_all,
};

// Whether it goes on while its block computes: a block ends with its arithmetic, and not before the
// last part has come and one more has been computed with it; of a scatter, not before what is sent
// once the first part has been computed has come.
constexpr bool is_beside(ExchangeKind kind) {
    return kind == ExchangeKind::context_ring || kind == ExchangeKind::tensor_gather ||
           kind == ExchangeKind::tensor_scatter;
}

// Between the ranks that divide a sample's tokens.
constexpr bool is_of_context(ExchangeKind kind) {
    return kind == ExchangeKind::context_ring || kind == ExchangeKind::context_gather ||
           kind == ExchangeKind::context_scatter || kind == ExchangeKind::context_all_to_all;
}

// Between ranks that compute a pass together, all at once; else between cells, which meet.
constexpr bool is_within_cell(ExchangeKind kind) {
    return kind == ExchangeKind::tensor_all_reduce || is_of_context(kind) || is_beside(kind);
}

// Of what a cell does meanwhile, in a trace.
std::string words_of(ExchangeKind kind);

// What a rank brings of parameters that are divided: among all that hold the same, and of experts
// among those that have the same ones.
struct DividedPart {
    Bytes of_all = {};
    Bytes of_experts = {};
    bool is_empty() const { return of_all == Bytes{} && of_experts == Bytes{}; }
};

// Computed in one go, and what is exchanged before the next one may begin (or meanwhile).
struct ModelBlock {
    double share = 0;            // of StepJob::compute
    double gradients_ready = 0;  // backward: of the stage's, in the order of its buckets, 0 to 1
    std::optional<ExchangeKind> exchange = {};
    Bytes bytes = {};
    double launch_share = 0;  // of StepJob::compute: what the host needs to launch it
    bool host_waits = false;  // it launches nothing of it before the block before is over
    // Where a unit of divided parameters begins: what each replica brings of it, for each tensor
    // rank (parameter_gathers.hpp).
    DividedPart gathered = {};
};

struct StageWork {
    std::vector<ModelBlock> forward;
    std::vector<ModelBlock> backward;  // in the order in which they are computed
    Bytes activations;                 // that each tensor rank sends to its peer of the next stage
    std::vector<GradientBucket> buckets;   // of one tensor rank
    std::vector<ModelBlock> weights = {};  // of backward, the gradients of weights, where they wait
    std::vector<ModelBlock> inputs = {};   // dual_pipe: backward without these
    std::vector<GradientBucket> expert_buckets = {};  // which only those who have them add up
};

struct LayoutWork {
    policies::Layout degrees;
    std::int32_t context = 1;    // ranks that divide a sample's tokens
    std::int32_t expert = 1;     // of expert_holders(), in this order: ranks that divide experts
    bool whole_experts = false;  // that tensor ranks do not cut; each has tokens of its own
    PipelineKind schedule = PipelineKind::one_forward_one_backward;
    std::int32_t chunks = 1;
    bool overlaps_tensor = false;   // there are blocks that gather or scatter beside computing
    std::vector<StageWork> stages;  // of PipelineSpec::stages(), on the first kind of GPU
    // With other shares on other kinds; and by rank, its kind: none, all are of the first.
    std::vector<std::vector<StageWork>> other_kinds;
    std::vector<std::size_t> kinds;
    std::vector<double> update_shares;  // of StepJob::update, by pipeline rank; none: all nothing
    // Of exchanges between replicas.
    policies::Collective exchange_collective = policies::Collective::ring;
    std::int32_t prefetch = 1;      // units that are gathered ahead
    bool sends_every_pass = false;  // gradients, and not those of the last micro-batch only
    double slowed_by_sending = 0;   // LayoutRequest has it
    Bytes words;  // gradients that the first and the last stage add up after those of replicas
    std::vector<DividedPart> updated_parts;  // by pipeline rank: gathered after the update; or none

    // Of what is_within_cell(): between how many ranks, and in as many parts.
    std::int32_t parts(ExchangeKind kind) const {
        return is_of_context(kind) ? context : degrees.tensor;
    }
    // What they send each other, of one rank nothing.
    std::vector<ExchangeKind> context_kinds() const;
    std::int32_t cell() const { return degrees.tensor * context; }  // that compute a pass together
    std::int32_t workers() const { return cell() * degrees.data * degrees.pipeline; }
    // `inner`: of the cell, tensor rank + tensor × context rank.
    std::int32_t rank(std::int32_t inner, std::int32_t replica, std::int32_t stage_rank) const {
        return inner + cell() * (replica + degrees.data * stage_rank);
    }
    // How many hold the same parameters; and who, of a job's workers.
    std::int32_t holders() const { return context * degrees.data; }
    // The same of experts, before they are divided.
    bool has_expert_sets() const { return expert > 1 || whole_experts; }
    std::int32_t expert_cell() const { return whole_experts ? cell() : context; }
    std::int32_t expert_holders() const { return expert_cell() * degrees.data; }
    std::int32_t expert_tensor() const { return whole_experts ? 1 : degrees.tensor; }
    std::vector<DeviceId> expert_holders_of(std::span<const DeviceId> workers, std::int32_t tensor,
                                            std::int32_t stage_rank) const;
    std::vector<DeviceId> holders_of(std::span<const DeviceId> workers, std::int32_t tensor,
                                     std::int32_t stage_rank) const;
    // Who adds up the gradients of the stages that begin a pipeline rank: holders there, and where
    // the same stages are once more.
    std::vector<DeviceId> adders_of(std::span<const DeviceId> workers, std::int32_t tensor,
                                    std::int32_t stage_rank) const;
    std::int32_t adders() const { return holders() * pipeline(1).copies(); }
    std::int32_t expert_adders() const { return expert_holders() / expert * pipeline(1).copies(); }
    // Of expert_holders(), groups that have all experts together; of adders, groups that have the
    // same ones.
    std::vector<std::vector<DeviceId>> expert_groups(std::span<const DeviceId> workers,
                                                     std::int32_t tensor,
                                                     std::int32_t stage_rank) const;
    std::vector<std::vector<DeviceId>> experts_adders(std::span<const DeviceId> workers,
                                                      std::int32_t tensor,
                                                      std::int32_t stage_rank) const;
    std::size_t kind_of(std::size_t rank) const { return kinds.empty() ? 0 : kinds[rank]; }
    const std::vector<StageWork>& stages_on(std::size_t kind) const {
        return kind == 0 ? stages : other_kinds[kind - 1];
    }
    const std::vector<ModelBlock>& blocks_of(const PipelinePass& pass, std::size_t kind = 0) const {
        const StageWork& stage = stages_on(kind)[static_cast<std::size_t>(pass.stage)];
        if (pass.forward) return stage.forward;
        if (pass.weights) return stage.weights;
        return pass.inputs && !stage.inputs.empty() ? stage.inputs : stage.backward;
    }
    // Buckets of a stage are ready in such a pass, if at all.
    bool gives_gradients(const PipelinePass& pass) const { return !pass.forward && !pass.inputs; }
    PipelineSpec pipeline(std::int64_t micro_batches) const {
        return {schedule, degrees.pipeline, static_cast<std::int32_t>(micro_batches), chunks};
    }
};

}  // namespace ukemi::sim
