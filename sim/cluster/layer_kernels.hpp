// layer_kernels.hpp — which kernels a layer launches, forward and backward, and what they take.
//
// Transformers as Megatron-LM trains them in half precision (github NVIDIA/Megatron-LM, fused
// softmax, bias-GELU and bias-dropout-add, attention that writes its scores): 15 kernels forward
// and 32 backward a block, and one more a tensor where gradients of micro-batches are added up. In
// a tensor group of t, each rank has 1/t of every product's columns or rows; norms, dropout and
// residuals are whole on each, or of 1/t of the tokens (sequence parallelism: Korthikanti et al.
// 2022). Flash attention is one kernel each way, of two products forward and five backward over
// half of the pairs (those that a causal mask leaves), which moves its inputs and results only (Dao
// et al., NeurIPS 2022), at rates of its own (kernel_time.hpp). A gated inner layer has two
// products side by side. The loss is a cross entropy in fp32. Other layers: a product with its two
// backward products, and bytes.
//
// Experts as Megatron Core trains them without dropping tokens (github NVIDIA/Megatron-LM,
// core/transformer/moe; NVIDIA/TransformerEngine, module/grouped_linear.py): scores and the choice
// of the best, a loss that balances them, counts of each expert's tokens on all ranks, tokens
// sorted by expert, on the way and where they arrive. The experts of a rank fill the device
// together, but the host launches each one's products, and what makes them eight bits, by itself.
#pragma once

#include <cstdint>

#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

struct KernelCut {
    std::int64_t batch = 1;      // samples of a micro-batch
    std::int64_t tensor = 1;     // ranks that share a layer
    bool accumulates = false;    // adds gradients to those of earlier micro-batches
    std::int64_t context = 1;    // ranks that have a part of every sample's tokens each
    bool sequence = false;       // norms, dropout and residuals are divided, too, by tokens
    std::int64_t expert = 1;     // ranks that have a part of the experts each
    std::int64_t pieces = 1;     // a half's first and last products are computed by tokens
    bool whole_experts = false;  // on each of `tensor` ranks, by tokens of its own
};

struct LayerKernels {
    KernelSum forward;
    KernelSum backward;  // without computing the layer again
    KernelSum scores;    // of the forward ones: from queries and keys to the sum of values
    KernelSum scores_back;
    KernelSum weights;  // of the backward ones: gradients of weights and biases
    // Of a half of a block: products with what tensor ranks gather, and with what they add up.
    struct Ends {
        KernelSum first;
        KernelSum last;
    };
    Ends ends;
    Ends ends_back;
};
// Whether the arithmetic of every layer is a product whose shape is known.
bool has_kernel_shapes(const ModelProfile& model);
LayerKernels layer_kernels(const KernelClock& clock, const ModelProfile& model,
                           const LayerCost& layer, const KernelCut& cut);

// Of so many parameters: their gradients made fp32 and measured, and the optimiser's own values.
KernelSum update_kernels(const KernelClock& clock, std::int64_t parameters,
                         std::int64_t state_values);

}  // namespace ukemi::sim
