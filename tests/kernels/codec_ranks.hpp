// codec_ranks.hpp — a tensor's codecs on all ranks, and gradients for them.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "kernels/codec.hpp"

namespace ukemi {

inline std::vector<float> random_gradient(std::uint64_t seed, std::string_view name,
                                          std::int64_t count) {
    RandomStream random(seed, name);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(random.normal(0.02, 0.1));
    return values;
}

struct CodecRanks {
    CodecRanks(std::string_view name, const kernels::CodecSettings& settings,
               const kernels::TensorShape& of_shape, int ranks, std::int64_t tensor = 0)
        : shape(of_shape), layout(kernels::codec_layout(name, settings.level, of_shape, ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            codecs.push_back(kernels::make_codec(name, settings, {of_shape, tensor, rank, ranks}));
        }
    }
    // The decoded mean of one step.
    std::vector<float> step(std::int64_t number, const std::vector<std::vector<float>>& gradients) {
        std::vector<kernels::TensorCodec*> ranks;
        for (const auto& codec : codecs) ranks.push_back(codec.get());
        const std::vector<std::span<const float>> spans(gradients.begin(), gradients.end());
        std::vector<float> mean(static_cast<std::size_t>(shape.elements()));
        kernels::exchange_step(layout, ranks, number, spans, mean);
        return mean;
    }
    std::vector<float> contribution(std::size_t rank) const {
        std::vector<float> arrived(static_cast<std::size_t>(shape.elements()));
        codecs[rank]->contribution(arrived);
        return arrived;
    }

    kernels::TensorShape shape;
    kernels::CodecLayout layout;
    std::vector<std::unique_ptr<kernels::TensorCodec>> codecs;
};

inline std::vector<std::vector<float>> rank_gradients(std::uint64_t seed, int ranks,
                                                      std::int64_t count) {
    std::vector<std::vector<float>> gradients;
    for (int rank = 0; rank < ranks; ++rank) {
        gradients.push_back(random_gradient(seed, fmt::format("gradient/{}", rank), count));
    }
    return gradients;
}

inline std::vector<double> mean_of(const std::vector<std::vector<float>>& ranks) {
    std::vector<double> mean(ranks.front().size());
    for (const auto& values : ranks) {
        for (std::size_t i = 0; i < mean.size(); ++i) {
            mean[i] += static_cast<double>(values[i]) / static_cast<double>(ranks.size());
        }
    }
    return mean;
}

template <class A, class B>
double squared_distance(const A& a, const B& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double off = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += off * off;
    }
    return sum;
}

template <class A>
double squared_norm_of(const A& a) {
    return squared_distance(a, std::vector<double>(a.size(), 0.0));
}

}  // namespace ukemi
