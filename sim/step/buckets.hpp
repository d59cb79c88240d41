// buckets.hpp — which gradients travel together, and when in the backward pass each is ready.
//
// Gradients are ready in reverse order of the layers. A layer's share of the backward pass is its
// share of the forward arithmetic (its products twice); layers limited by memory take longer than
// that in truth. A bucket is ready when its last gradient is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

enum class BucketKind : std::uint8_t {
    one,      // everything after the backward pass
    tensors,  // each tensor by itself, as Horovod negotiates them (launch.hpp fuses them)
    filled,   // tensors in order until a bucket has reached its size: PyTorch DDP
    chunks,   // each tensor cut into pieces of a size: KungFu
};
inline constexpr std::array<std::string_view, 4> bucket_kind_names = {"one", "tensors", "filled",
                                                                      "chunks"};

struct BucketRule {
    BucketKind kind = BucketKind::filled;
    // filled: a first bucket of 1 MiB, then of 25 MiB, closed by the tensor that reaches it (Li et
    // al., "PyTorch Distributed", VLDB 2020, and DistributedDataParallel's defaults). chunks: 1 MiB
    // (KungFu's session/shard.go), here in `size`.
    Bytes first = mebibytes(1);
    Bytes size = mebibytes(25);
};

// Something of a bucket that is sent: on which of a job's lanes (gradient_sender.hpp).
struct BucketLeg {
    std::uint32_t lane = 0;
    Bytes bytes;
};

struct GradientBucket {
    std::string name;  // of its first tensor
    Bytes bytes;
    double ready = 1;  // share of the backward pass after which it is ready, 0 to 1
    // One after the other; none: its bytes on the first lane.
    std::vector<BucketLeg> legs = {};
    Duration encode = {};
    Duration decode = {};
    Duration decode_a_peer = {};  // of which for each of the workers
    std::int64_t tensors = 1;     // that it is of, whole or in part
};

inline constexpr std::size_t buckets_max = 100'000;

// In the order in which they are ready. InputError(WHERE …) if there would be more than
// buckets_max. `layers_ready`: as in ready_shares().
std::vector<GradientBucket> gradient_buckets(const ModelProfile& model, const BucketRule& rule,
                                             std::int64_t bytes_per_element, std::string_view where,
                                             std::span<const double> layers_ready = {});

// What a monitor of the gradients' variance sends, too: after each bucket the squares of its
// gradients, as many numbers, for the second all-reduce that the variance over workers needs
// (KungFu's grad_variance.py; kernels/gradient_monitors.hpp has the formula).
void add_squares(std::vector<GradientBucket>& buckets);

// By tensor, in forward order: the share of the backward pass after which its gradient is ready;
// `layers_ready`: these shares by layer, as they are known; none: by arithmetic, or as measured.
std::vector<double> ready_shares(const ModelProfile& model,
                                 std::span<const double> layers_ready = {});

}  // namespace ukemi::sim
