// codec_plan.hpp — what a job's buckets become on the wire when a codec has encoded them.
//
// Every tensor goes through the codec by itself (kernels/codec.hpp), and its bytes are exact: sums
// and maxima of a round ride the job's all-reduce, gathers an all-gather over a ring, broadcasts a
// binomial tree. Rounds of a bucket's tensors travel together. Codecs take single precision: a
// gradient of half precision is encoded from its widened values. Encoding and decoding take the
// kernels of a GPU (codec_kernels.hpp), or the codec's operations at a given rate; they hold up
// the backward pass (data_parallel_player.hpp).
//
// A weight is a matrix of as many rows as its layer has outputs (of a convolution: channels), an
// embedding of as many as it has words; everything else is a vector (GradientTensor::rows).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/codec.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/step/buckets.hpp"
#include "sim/step/codec_kernels.hpp"

namespace ukemi::sim {

struct StepCodec {
    std::string name = "none";
    double level = 0;        // 0: the codec's default
    double encode_rate = 0;  // operations a second (CodecLayout); 0: the kernels of `gpu`
    double decode_rate = 0;
    const GpuProfile* gpu = nullptr;
};

// The lanes that carry the rounds.
inline constexpr std::uint32_t all_reduce_lane = 0;
inline constexpr std::uint32_t gather_lane = 1;
inline constexpr std::uint32_t broadcast_lane = 2;
inline constexpr std::uint32_t scatter_lane = 3;  // of a layout: replicas keep a part each

// By tensor of the model, in forward order.
std::vector<kernels::TensorShape> tensor_shapes(const ModelProfile& model);

struct CodedBytes {
    Bytes gradient;       // as it would be sent without the codec
    Bytes message;        // of one worker, over all rounds
    bool reduces = true;  // no round gathers
    Duration encode;
    Duration decode;
    CodecKernels kernels;  // where no rates are given
};
// Gives buckets, which gradient_buckets() made of this model and rule, their legs and costs.
// InputError(WHERE …) if the codec, which must exist, cannot take pieces of tensors, or takes
// matrices and the model has none.
CodedBytes encode_buckets(std::span<GradientBucket> buckets, const ModelProfile& model,
                          const BucketRule& rule, std::int64_t bytes_per_element,
                          const StepCodec& choice, int ranks, std::string_view where);

}  // namespace ukemi::sim
