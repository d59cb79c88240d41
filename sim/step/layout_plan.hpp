// layout_plan.hpp — cuts a model into what each worker of a layout computes, sends and holds.
//
// Transformers only may be cut, as Megatron-LM cuts them (Shoeybi et al. 2019, section 3; Narayanan
// et al., SC 2021): blocks go in equal numbers to the stages (stage_blocks() has the exception),
// embeddings to the first and the logits to the last, whose workers have the words' embedding for
// them as well, if it is tied. In a tensor group of t, matrices, the vocabulary and the biases of
// what is split by columns are divided by t, norms and the other biases replicated; activations of
// a micro-batch are summed twice a block in the forward pass and twice in the backward one, and
// twice more where the forward pass is computed again. Without times of kernels (layer_times.hpp),
// arithmetic is divided by t: what smaller matrices lose is not seen. Gradients of an embedding
// that the first and the last stage have are added up between them after those of replicas
// (Megatron Core's finalize_model_grads.py). Not counted: the all-reduces of the embedding's output
// and of the loss; and where parameters are divided, that the logits gather the embedding again.
//
// Ranks of a context group have their part of every sample's tokens, so parts of as many tokens in
// all layers; what they send for attention is in context_sends.hpp. Pairs that a causal mask leaves
// are divided evenly (by cutting twice as fine).
//
// Ranks of an expert group have a part of each block's experts (GShard: Lepikhin et al., ICLR
// 2021): tokens go to those that they take and come back, in an all-to-all before the inner layer
// and one after it, backward the same; each expert is taken as often as the others. The group is
// so many of a parameter's holders() that follow each other, as of Megatron Core's: whole context
// groups, or parts of one. Gradients of experts are added up, and divided (Shard), by those who
// have the same ones. In a tensor group experts are cut as other matrices are, and each rank sends
// for itself: what it has of the tokens where they are divided by them (sequence_parallel), and
// then gathers and scatters those that have come; else all, and sums are all-reduced after they are
// back. Or they are whole (an expert tensor degree of 1): then tensor ranks are holders of experts,
// too, each with its own tokens. Before a block's experts the host waits for the device: it has to
// know how many tokens each has got to launch their products (Megatron Core's token_dispatcher.py,
// where no tokens are dropped).
//
// Networks of images may have two other things:
//   synchronised_norm  a batch normalisation all-reduces a mean and a variance a channel and its
//                      count forward, two sums a channel backward, in fp32
//   split_dense        the outputs of every fully connected layer are divided among all replicas
//                      (Krizhevsky 2014, "One weird trick"): inputs are all-gathered, outputs go
//                      back to the samples' owners in an all-to-all; the backward pass does the
//                      reverse. Its gradients are complete where they are, and not sent.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/cluster/memory_need.hpp"
#include "sim/step/layout_work.hpp"

namespace ukemi::sim {

// What replicas divide among themselves in place of holding it all (ZeRO: Rajbhandari et al., SC
// 2020, sections 5 and 7); each has what stands before it, too. Gradients are then
// reduce-scattered.
//   optimiser   states of the optimiser: the updated parameters are gathered after each step
//   gradients   with every micro-batch, as none keeps them whole
//   parameters  gathered unit by unit before each pass over them, and not after the step (PyTorch's
//               fully sharded data parallelism, DeepSpeed's stage 3)
enum class Shard : std::uint8_t { none, optimiser, gradients, parameters };
inline constexpr std::array<std::string_view, 4> shard_names = {"none", "optimiser", "gradients",
                                                                "parameters"};

// How ranks that divide a sample's tokens get what attention needs of the others'
// (context_sends.hpp).
enum class ContextExchange : std::uint8_t { ring, all_to_all, gather };
inline constexpr std::array<std::string_view, 3> context_exchange_names = {"ring", "all_to_all",
                                                                           "gather"};

struct LayoutRequest {
    policies::Layout degrees;
    std::int32_t context = 1;  // ranks that divide a sample's tokens
    ContextExchange context_exchange = ContextExchange::ring;
    PipelineKind schedule = PipelineKind::one_forward_one_backward;  // asked for; see played()
    std::int32_t chunks = 1;
    std::int64_t micro_batches = 1;
    std::int64_t batch = 1;             // samples of a micro-batch
    bool recompute = false;             // blocks keep their input only, and are computed again
    std::int64_t recompute_blocks = 0;  // so many of a stage, its first; 0: all
    std::vector<std::int64_t> recompute_by_stage = {};  // or so many of each stage, none: all alike
    bool recompute_scores = false;   // attention's, of blocks that are not computed again
    bool sequence_parallel = false;  // what a tensor group does not divide, it divides by tokens
    bool overlap_tensor = false;     // and gathers and scatters in pieces beside its products
    bool synchronised_norm = false;
    bool split_dense = false;
    Shard shard = Shard::none;
    std::int32_t prefetch = 1;     // units of parameters that are gathered ahead
    double slowed_by_sending = 0;  // of its pace, what computing loses while they or gradients are
                                   // on the way: 0 to 1
    std::int32_t expert = 1;       // ranks that divide each block's experts, of expert_holders()
    bool whole_experts = false;    // tensor ranks do not cut them
    std::int64_t value_bytes = 4;
    BucketRule buckets;

    // Of one stage these schedules are alike.
    PipelineKind played() const {
        const bool alike = degrees.pipeline == 1 && (schedule == PipelineKind::gpipe ||
                                                     schedule == PipelineKind::zero_bubble);
        return alike ? PipelineKind::one_forward_one_backward : schedule;
    }
    PipelineSpec pipeline() const {
        return {played(), degrees.pipeline, static_cast<std::int32_t>(micro_batches), chunks};
    }
    std::int64_t holders() const { return std::int64_t{context} * degrees.data; }  // of a parameter
    bool has_expert_sets() const { return expert > 1 || whole_experts; }
    std::int64_t expert_cell() const {
        return std::int64_t{context} * (whole_experts ? degrees.tensor : 1);
    }
    std::int64_t expert_holders() const { return expert_cell() * degrees.data; }
    // Parameters are gathered unit by unit where all units are divided.
    bool divides_experts_alone() const {
        return shard == Shard::parameters && holders() == 1 && has_expert_sets() &&
               expert_adders() > 1;
    }
    std::int64_t expert_adders() const {  // of an expert's gradients
        return expert_holders() / expert * pipeline().copies();
    }
    bool is_plain() const;  // every worker does the same, and nothing is sent but gradients
    bool is_plain_but_slowed() const;  // ...and that takes from computing
};

// Whether so many of experts' holders can divide them: some cells' or context groups', or a part of
// one's.
bool divides_holders(std::int64_t expert, const LayoutRequest& request);

// Of each of a model's layers, on one worker: what the device takes, and the host to launch it.
struct LayerTimes {
    struct Pass {
        double device_s = 0;
        double launch_s = 0;
    };
    std::vector<Pass> forward;
    std::vector<Pass> backward;
    std::vector<bool> host_waits;   // before its forward pass, for the device
    std::vector<Pass> scores;       // of forward: attention between queries, keys and values
    std::vector<Pass> scores_back;  // of backward
    std::vector<Pass> weights;      // of backward: gradients of weights
    struct Ends {                   // products with what a tensor group gathers or adds up
        Pass first;
        Pass last;
    };
    std::vector<Ends> ends;       // of forward
    std::vector<Ends> ends_back;  // of backward
    double whole_s = 0;           // of the device, both passes of all layers
    double shared_s = 0;          // the same on a device that others share (KernelSum)
};

// InputError(WHERE …) if the model cannot be cut so. With `times`, blocks are shares of their
// whole; without, of the model's arithmetic divided by the tensor group.
LayoutWork make_layout(const ModelProfile& model, const LayoutRequest& request,
                       std::string_view where, const LayerTimes* times = nullptr);

// Of the pipeline rank that needs most. Kept a block, sample and worker, at two bytes a value: s h
// (10 + 24/t + 5 a s/(h t)) bytes (Korthikanti et al. 2022, eq. 2; BlockKept), without the last
// term where scores are computed again, the first over t, too, with sequence parallelism; 2 s h
// with recompute, and the whole of one block once; in fp8 less (BlockKept), and while the loss is
// computed MemoryRule::bytes_a_logit. As many micro-batches as the schedule keeps. Of what replicas
// divide, the n-th part; of divided gradients also those of the largest unit, of divided parameters
// as many whole units as may be gathered at once. What one rank holds alone is in no unit: it is
// there once.
struct LayoutMemory {
    std::int32_t stage_rank = 0;
    std::int64_t micro_batches_kept = 1;
    MemoryNeed need;
};
LayoutMemory layout_memory(const ModelProfile& model, const LayoutRequest& request,
                           const MemoryRule& rule);
// Throws InputError("WHERE: …") with the bytes needed, what they are for, and the largest batch.
// Where such GPUs have some pipeline ranks only, these: none, all.
void check_layout_memory(const ModelProfile& model, const GpuProfile& gpu,
                         const LayoutRequest& request, const MemoryRule& rule,
                         std::string_view where, std::span<const std::int32_t> stage_ranks = {});

}  // namespace ukemi::sim
