// encoded_exchange.hpp — the averaging of one step's gradient by a codec, over a Communicator.
//
// A model's tensors travel in buckets; within a bucket, messages of one round that are combined
// alike go as one operation: sums and maxima on the all-reduce schedule, gathers on an all-gather,
// one rank's places by a broadcast. Every rank ends with equal bits (codec.hpp).
//
// Ranks with more samples weigh more: what rank r encodes is its sum of gradients × ranks ÷ all
// samples, so that the mean over the ranks is the mean over the samples. With error feedback, where
// the codec contracts, what does not arrive is kept and joins the next gradient (Karimireddy et
// al., arXiv:1901.09847, Alg. 2), whatever codec that one goes by.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/communicator.hpp"
#include "kernels/model.hpp"
#include "kernels/replica.hpp"

namespace ukemi::kernels {

// Consecutive tensors whose gradients travel together: tensors [first_tensor, end_tensor), elements
// [begin, end).
struct Bucket {
    std::string name;
    std::size_t first_tensor = 0;
    std::size_t end_tensor = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
};

// From the last tensor to the first, since the backward pass finishes them so; each at least so
// large, except the last bucket.
std::vector<Bucket> make_buckets(std::span<const TensorSlice> tensors, std::size_t bucket_bytes);

struct EncodedSettings {
    policies::Codec codec = policies::Codec::none;
    double level = 0;
    bool error_feedback = true;  // where the codec contracts
    std::uint64_t seed = 0;
};

// Of one step of this rank.
struct EncodedMeasures {
    std::int64_t codec_ns = 0;  // encoding and decoding, summed over the buckets
    std::int64_t bytes = 0;     // of the messages handed in
    double lost = 0;            // |p − what of it arrived|², p = gradient + what was kept
    double whole = 0;           // |p|²
};

// Bytes that one rank hands in at each step.
std::int64_t encoded_bytes(policies::Codec codec, double level,
                           std::span<const TensorSlice> tensors, int ranks);

class EncodedExchange {
public:
    // The spans outlive this object; settings.codec is not `none`, and its level is possible.
    EncodedExchange(const EncodedSettings& settings, std::span<const TensorSlice> tensors,
                    std::span<const Bucket> buckets, const Membership& members);
    ~EncodedExchange();
    EncodedExchange(const EncodedExchange&) = delete;
    EncodedExchange& operator=(const EncodedExchange&) = delete;

    const EncodedSettings& settings() const { return settings_; }
    // Before the buckets of a step. A memory of another codec gives only what it kept.
    void begin(std::int64_t step, const CodecMemory& memory, float weight);
    // `gradient` is the bucket's: this rank's sum over its samples; afterwards everybody's mean.
    // Different buckets may be under way at once, from different threads.
    Outcome exchange(std::size_t bucket, Communicator& peers, const Schedule& schedule,
                     std::span<float> gradient);
    // After all buckets.
    EncodedMeasures measures() const;
    CodecMemory memory();

private:
    struct Tensor;
    struct Operation;
    struct Lane;
    void plan_operations(Lane& lane, const Bucket& bucket);
    Outcome carry_out(Lane& lane, Operation& operation, Communicator& peers,
                      const Schedule& schedule);

    EncodedSettings settings_;
    Membership members_;
    bool keeps_ = false;
    std::int64_t step_ = 0;
    float weight_ = 1;
    std::vector<Tensor> tensors_;
    std::vector<Lane> lanes_;       // one a bucket
    std::vector<float> kept_;       // as long as the model
    std::vector<float> corrected_;  // gradient + kept
};

}  // namespace ukemi::kernels
