// memory_need.hpp — does a batch fit on a GPU; if not, how many bytes are missing.
//
// Counted: a parameter's weight, gradient and optimiser state; what the forward pass keeps for the
// backward pass, a sample; what the exchange keeps of each parameter; a reserve for the driver, the
// libraries' work space and fragments. No recomputation, no offloading. Logits are kept in fp32
// (LossKind::fused: at the step's precision), and while the loss of a micro-batch is computed there
// is more (bytes_a_logit). The reserve is an assumption (1 GiB); the rest is counted. A GPU's
// memory has the driver's part in it (gpus.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/quantity.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

// Whose cross entropy. Megatron Core's writes over fp32 logits; beside them are, in half precision,
// those that it was given or their gradient: 6 bytes (4 in fp32; github NVIDIA/Megatron-LM,
// core/tensor_parallel/cross_entropy.py). PyTorch's, one operation after the other, has their
// logarithms and both gradients in fp32: 12 (Wijmans et al., ICLR 2025: 24 GB of 8192 x 256,000).
// One kernel forward and one backward need no fp32: logits and their gradient, 4 (8 in fp32; github
// Dao-AILab/flash-attention, ops/triton/cross_entropy.py).
enum class LossKind : std::uint8_t { megatron, pytorch, fused };
inline constexpr std::array<std::string_view, 3> loss_names = {"megatron", "pytorch", "fused"};

enum class OptimiserKind : std::uint8_t { sgd, momentum, adam };

struct MemoryRule {
    std::int64_t bytes_a_state = 4;  // of the optimiser, a parameter, its own copy of it included
    std::int64_t bytes_a_value = 4;  // of a weight, a gradient, and what the backward pass needs
    Bytes reserve = mebibytes(1024);
    // Of each parameter on the GPU: the rest that a codec's error feedback sends later, or what a
    // partner's model has for it (pair averaging).
    std::int64_t values_exchanged = 0;
    std::int64_t learners = 1;       // on the GPU: each has all of the others, and a batch
    bool eight_bits = false;         // of inputs of products with blocks' weights
    std::int64_t bytes_a_logit = 4;  // at most at once
    std::int64_t bytes_a_logit_kept = 4;

    // So many values, of them so many such inputs, and so many that are kept in eight bits besides.
    Bytes kept(std::int64_t values, std::int64_t inputs, std::int64_t twice) const;
    // Of so many logits, while the loss is computed, more than is kept.
    Bytes once(std::int64_t logits) const {
        return (bytes_a_logit - bytes_a_logit_kept) * bytes(logits);
    }

    // fp32: 4 + 4 and 0, 4 or 8 for the optimiser. fp16 and bf16 (mixed precision): 2 + 2, the
    // fp32 master weight 4, and the same state (ZeRO: Rajbhandari et al., SC 2020, section 3.1).
    // fp8: as bf16, weights and gradients, too (NVIDIA/TransformerEngine keeps weights in eight
    // bits twice, as they are and transposed).
    static MemoryRule of(Precision precision, OptimiserKind optimiser,
                         LossKind loss = LossKind::megatron);
};

struct MemoryNeed {
    Bytes weights;
    Bytes gradients;
    Bytes states;    // of the optimiser
    Bytes exchange;  // MemoryRule::values_exchanged
    Bytes kept;      // by all samples of the batch
    Bytes reserve;
    Bytes parameters() const { return weights + gradients + states; }
    Bytes total() const { return parameters() + exchange + kept + reserve; }
};

MemoryNeed memory_need(const ModelProfile& model, std::int64_t batch, const MemoryRule& rule);

// No sum of a scenario's sizes is counted beyond this many bytes, which nobody has.
inline constexpr Bytes bytes_most = bytes(std::int64_t{1} << 60);
Bytes bytes_counted(Int128 sum);
// Throws InputError("WHERE: …") where the sum is.
void expect_countable(const MemoryNeed& need, const ModelProfile& model, std::int64_t batch,
                      std::string_view where);

// The largest batch that fits; 0 if none does.
std::int64_t batch_max(const ModelProfile& model, const GpuProfile& gpu, const MemoryRule& rule);

// Throws InputError("WHERE: …") with the bytes needed, what they are for, and the largest batch.
void check_memory(const ModelProfile& model, const GpuProfile& gpu, std::int64_t batch,
                  const MemoryRule& rule, std::string_view where);

}  // namespace ukemi::sim
