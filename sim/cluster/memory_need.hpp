// memory_need.hpp — does a batch fit on a GPU; if not, how many bytes are missing.
//
// Counted: a parameter's weight, gradient and optimiser state; what the forward pass keeps for the
// backward pass, a sample; what the exchange keeps of each parameter; a reserve for the driver, the
// libraries' work space and fragments. No recomputation, no offloading. The reserve is an
// assumption (1 GiB); the rest is counted. A GPU's memory has the driver's part in it (gpus.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/quantity.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

enum class OptimiserKind : std::uint8_t { sgd, momentum, adam };

struct MemoryRule {
    std::int64_t bytes_a_state = 4;  // of the optimiser, a parameter, its own copy of it included
    std::int64_t bytes_a_value = 4;  // of a weight, a gradient, and what the backward pass needs
    Bytes reserve = mebibytes(1024);
    // Of each parameter on the GPU: the rest that a codec's error feedback sends later, or what a
    // partner's model has for it (pair averaging).
    std::int64_t values_exchanged = 0;
    std::int64_t learners = 1;  // on the GPU: each has all of the others, and a batch

    // fp32: 4 + 4 and 0, 4 or 8 for the optimiser. fp16 and bf16 (mixed precision): 2 + 2, the
    // fp32 master weight 4, and the same state (ZeRO: Rajbhandari et al., SC 2020, section 3.1).
    static MemoryRule of(Precision precision, OptimiserKind optimiser);
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
