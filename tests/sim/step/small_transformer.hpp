// small_transformer.hpp — a transformer that is counted in no time, with experts if asked.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/cluster/models/architectures.hpp"

namespace ukemi::test {

inline sim::TransformerShape small_transformer(std::int64_t layers, std::int64_t experts) {
    sim::TransformerShape shape;
    shape.layers = layers;
    shape.hidden = 256;
    shape.heads = 4;
    shape.vocabulary = 1000;
    shape.positions = 64;
    shape.sequence_length = 64;
    shape.experts = experts;
    shape.experts_per_token = std::min<std::int64_t>(experts, 2);
    return shape;
}

}  // namespace ukemi::test
