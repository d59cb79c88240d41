// small_transformer.hpp — a transformer that is counted in no time, with experts if asked; and a
// request of a layout in half precision.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/cluster/models/architectures.hpp"
#include "sim/step/layout_plan.hpp"

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

inline sim::LayoutRequest request_of(policies::Layout degrees, std::int64_t batch = 1) {
    sim::LayoutRequest request;
    request.degrees = degrees;
    request.batch = batch;
    request.value_bytes = 2;
    return request;
}

}  // namespace ukemi::test
