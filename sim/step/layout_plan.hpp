// layout_plan.hpp — cuts a model into what each worker of a layout computes, sends and holds.
//
// Transformers only may be cut, as Megatron-LM cuts them (Shoeybi et al. 2019, section 3;
// Narayanan et al., SC 2021): blocks go in equal numbers to the stages, embeddings to the first and
// the logits to the last. In a tensor group of t, matrices, the vocabulary and the biases of what
// is split by columns are divided by t, norms and the other biases are replicated; the activations
// of a micro-batch are all-reduced twice a block in the forward pass and twice in the backward one,
// and twice more where the forward pass is computed again. Without times of kernels
// (layer_times.hpp), arithmetic is divided by t: what smaller matrices lose is not seen. Not
// counted: the all-reduces of the embedding's output, of the loss, and of a tied embedding between
// the first and the last stage.
//
// Networks of images may have two other things:
//   synchronised_norm  a batch normalisation all-reduces a mean and a variance a channel and its
//                      count forward, two sums a channel backward, in fp32
//   split_dense        the outputs of every fully connected layer are divided among all replicas
//                      (Krizhevsky 2014, "One weird trick"): inputs are all-gathered, outputs go
//                      back to the samples' owners in an all-to-all; the backward pass does the
//                      reverse. Its gradients are complete where they are, and not sent.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/cluster/memory_need.hpp"
#include "sim/step/layout_work.hpp"

namespace ukemi::sim {

struct LayoutRequest {
    policies::Layout degrees;
    PipelineKind schedule = PipelineKind::one_forward_one_backward;
    std::int32_t chunks = 1;
    std::int64_t micro_batches = 1;
    std::int64_t batch = 1;  // samples of a micro-batch
    bool recompute = false;  // blocks keep their input only, and are computed again
    bool synchronised_norm = false;
    bool split_dense = false;
    std::int64_t value_bytes = 4;
    BucketRule buckets;

    bool is_plain() const;  // every worker does the same, and nothing is sent but gradients
};

// Of each of a model's layers, on one worker: what the device takes, and the host to launch it.
struct LayerTimes {
    struct Pass {
        double device_s = 0;
        double launch_s = 0;
    };
    std::vector<Pass> forward;
    std::vector<Pass> backward;
    double whole_s = 0;  // of the device, both passes of all layers
};

// InputError(WHERE …) if the model cannot be cut so. With `times`, blocks are shares of their
// whole; without, of the model's arithmetic divided by the tensor group.
LayoutWork make_layout(const ModelProfile& model, const LayoutRequest& request,
                       std::string_view where, const LayerTimes* times = nullptr);

// Of the pipeline rank that needs most. Kept a block, sample and worker, at two bytes a value:
// s h (10 + 24/t + 5 a s/(h t)) bytes (Korthikanti et al. 2022, eq. 2); 2 s h with recompute, and
// the whole of one block once. As many micro-batches as the schedule keeps.
struct LayoutMemory {
    std::int32_t stage_rank = 0;
    std::int64_t micro_batches_kept = 1;
    MemoryNeed need;
};
LayoutMemory layout_memory(const ModelProfile& model, const LayoutRequest& request,
                           const MemoryRule& rule);
// Throws InputError("WHERE: …") with the bytes needed, what they are for, and the largest batch.
void check_layout_memory(const ModelProfile& model, const GpuProfile& gpu,
                         const LayoutRequest& request, const MemoryRule& rule,
                         std::string_view where);

}  // namespace ukemi::sim
