#include "sim/learning/real/group_codecs.hpp"

#include <algorithm>
#include <cmath>

#include "base/invariant.hpp"

namespace ukemi::sim {

std::vector<kernels::TensorShape> tensor_shapes(const kernels::Model& model) {
    std::vector<kernels::TensorShape> shapes;
    const auto tensors = model.tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const auto count = static_cast<std::int64_t>(tensors[t].count);
        const bool weight = t % 2 == 0 && t + 1 < tensors.size();
        const auto outputs = weight ? static_cast<std::int64_t>(tensors[t + 1].count) : 1;
        shapes.push_back({count / outputs, outputs});
    }
    return shapes;
}

GroupCodecs::GroupCodecs(const kernels::Model& model, policies::Codec codec, double level,
                         std::uint64_t seed, int learners, bool rest_kept)
    : codec_(codec), level_(level), learners_(learners) {
    const std::string_view name = kernels::entry_of(codec).name;
    const std::vector<kernels::TensorShape> shapes = tensor_shapes(model);
    const auto slices = model.tensors();
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        Tensor tensor{slices[t].begin,
                      slices[t].count,
                      kernels::codec_layout(name, level, shapes[t], learners),
                      {}};
        for (int learner = 0; learner < learners; ++learner) {
            const kernels::CodecMember member{shapes[t], static_cast<std::int64_t>(t), learner,
                                              learners};
            tensor.codecs.push_back(kernels::make_codec(
                name, {.level = level, .seed = seed, .rest_kept = rest_kept}, member));
        }
        tensors_.push_back(std::move(tensor));
    }
    fresh_ = shared_memory();
}

bool GroupCodecs::are(policies::Codec codec, double level, int learners) const {
    return codec_ == codec && level_ == level && learners_ == learners;
}

// The same on all learners.
std::vector<float> GroupCodecs::shared_memory() {
    std::vector<float> memory;
    for (Tensor& tensor : tensors_) {
        for (const std::span<float> part : tensor.codecs.front()->memory()) {
            memory.insert(memory.end(), part.begin(), part.end());
        }
    }
    return memory;
}

void GroupCodecs::load(std::span<const float> shared) {
    for (int learner = 0; learner < learners_; ++learner) {
        std::span<const float> left = shared;
        for (Tensor& tensor : tensors_) {
            for (const std::span<float> part :
                 tensor.codecs[static_cast<std::size_t>(learner)]->memory()) {
                INVARIANT(part.size() <= left.size());
                std::ranges::copy(left.first(part.size()), part.begin());
                left = left.subspan(part.size());
            }
        }
        INVARIANT(left.empty());
    }
}

double GroupCodecs::exchange(std::int64_t step, std::span<std::vector<float>> gradients,
                             std::vector<float>& shared, std::span<float> mean) {
    INVARIANT(std::ssize(gradients) == learners_);
    load(shared.empty() ? fresh_ : shared);
    double lost = 0;
    double whole = 0;
    for (Tensor& tensor : tensors_) {
        std::vector<kernels::TensorCodec*> ranks;
        std::vector<std::span<const float>> parts;
        for (std::size_t learner = 0; learner < gradients.size(); ++learner) {
            ranks.push_back(tensor.codecs[learner].get());
            parts.push_back(std::span(gradients[learner]).subspan(tensor.begin, tensor.count));
        }
        kernels::exchange_step(tensor.layout, ranks, step, parts,
                               mean.subspan(tensor.begin, tensor.count));
        arrived_.resize(tensor.count);
        for (std::size_t learner = 0; learner < gradients.size(); ++learner) {
            tensor.codecs[learner]->contribution(arrived_);
            for (std::size_t i = 0; i < tensor.count; ++i) {
                float& value = gradients[learner][tensor.begin + i];
                const auto sent = static_cast<double>(value);
                value -= arrived_[i];
                const auto rest = static_cast<double>(value);
                lost += rest * rest;
                whole += sent * sent;
            }
        }
    }
    shared = shared_memory();
    return whole > 0 ? std::sqrt(lost / whole) : 0;
}

}  // namespace ukemi::sim
