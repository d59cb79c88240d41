// group_codecs.hpp — the gradients of all virtual learners through one codec.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/model.hpp"

namespace ukemi::sim {

// A tensor of weights lies before its biases, of which it has one an output; in memory the outputs
// of one input lie together.
std::vector<kernels::TensorShape> tensor_shapes(const kernels::Model& model);

class GroupCodecs {
public:
    // A level that the codec has, or 0, its usual one. `rest_kept`: what exchange() leaves goes
    // into the next gradients.
    GroupCodecs(const kernels::Model& model, policies::Codec codec, double level,
                std::uint64_t seed, int learners, bool rest_kept);

    bool are(policies::Codec codec, double level, int learners) const;
    // One step: `gradients` by learner, as long as the model; afterwards each holds what of it has
    // not arrived. `shared` is the codec's warm start, empty before its first step. Returns what
    // was lost of all gradients: √(Σ|p − what of p arrived|² ÷ Σ|p|²).
    double exchange(std::int64_t step, std::span<std::vector<float>> gradients,
                    std::vector<float>& shared, std::span<float> mean);

private:
    struct Tensor {
        std::size_t begin = 0;
        std::size_t count = 0;
        kernels::CodecLayout layout;
        std::vector<std::unique_ptr<kernels::TensorCodec>> codecs;  // by learner
    };
    void load(std::span<const float> shared);
    std::vector<float> shared_memory();

    policies::Codec codec_;
    double level_;
    int learners_;
    std::vector<Tensor> tensors_;
    std::vector<float> fresh_;  // their memory before the first step
    std::vector<float> arrived_;
};

}  // namespace ukemi::sim
