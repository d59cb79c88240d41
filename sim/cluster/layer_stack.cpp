// layer_stack.cpp — the arithmetic of shapes.
#include "sim/cluster/layer_stack.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

std::int64_t slid(std::int64_t length, std::int64_t window, std::int64_t stride, std::int64_t pad) {
    INVARIANT(stride > 0 && length + 2 * pad >= window);
    return (length + 2 * pad - window) / stride + 1;
}

}  // namespace

LayerStack::LayerStack(std::string name, std::string sample, Shape input) : shape_(input) {
    profile_.name = std::move(name);
    profile_.sample = std::move(sample);
    profile_.values_kept = input.values();
}

LayerCost& LayerStack::add_layer(std::string_view name) {
    profile_.layers.emplace_back();
    profile_.layers.back().name = name;
    return profile_.layers.back();
}

void LayerStack::add_tensor(std::string_view layer, std::string_view kind, std::int64_t elements,
                            std::int64_t rows) {
    INVARIANT(elements > 0);
    profile_.tensors.push_back({fmt::format("{}.{}", layer, kind), elements, rows});
    profile_.layers.back().parameters += elements;
}

void LayerStack::reach(const Shape& next) {
    profile_.layers.back().values_moved += shape_.values() + next.values();
    profile_.values_kept += next.values();
    shape_ = next;
}

void LayerStack::convolution(std::string_view name, std::int64_t channels, const Window& window,
                             bool bias) {
    const Shape next{channels, slid(shape_.height, window.height, window.stride, window.pad_height),
                     slid(shape_.width, window.width, window.stride, window.pad_width)};
    const std::int64_t taps = shape_.channels * window.height * window.width;
    LayerCost& layer = add_layer(name);
    layer.forward_flops = 2.0 * static_cast<double>(taps) * static_cast<double>(next.values());
    const bool minimal = window.height == 3 && window.width == 3 && window.stride == 1;
    layer.fp32_saving = minimal ? 2.25 : 1;
    layer.rows = next.height * next.width;
    layer.columns = channels;
    layer.depth = taps;
    add_tensor(name, "weight", taps * channels, channels);
    if (bias) add_tensor(name, "bias", channels);
    reach(next);
}

void LayerStack::batch_norm(std::string_view name) {
    add_layer(name);
    add_tensor(name, "scale", shape_.channels);
    add_tensor(name, "shift", shape_.channels);
    reach(shape_);
}

void LayerStack::pool(const Window& window) {
    add_layer("pool");
    reach({shape_.channels, slid(shape_.height, window.height, window.stride, window.pad_height),
           slid(shape_.width, window.width, window.stride, window.pad_width)});
}

void LayerStack::dense(std::string_view name, std::int64_t outputs, bool bias) {
    const std::int64_t inputs = shape_.values();
    LayerCost& layer = add_layer(name);
    layer.forward_flops = 2.0 * static_cast<double>(inputs * outputs);
    layer.rows = 1;
    layer.columns = outputs;
    layer.depth = inputs;
    add_tensor(name, "weight", inputs * outputs, outputs);
    if (bias) add_tensor(name, "bias", outputs);
    reach({outputs, 1, 1});
}

}  // namespace ukemi::sim
