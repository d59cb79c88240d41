#include "kernels/models/image_network.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"

namespace ukemi::kernels {

namespace {

std::int32_t side_of(std::int32_t pixels) {
    const auto side = static_cast<std::int32_t>(std::lround(std::sqrt(pixels)));
    return side * side == pixels ? side : 0;
}

// Adds layers behind each other; every function gives the node that it has made.
class Builder {
public:
    Builder(std::string_view kind, ImageShape input) {
        network_.kind = kind;
        ImageLayer layer;
        layer.in = layer.out = input;
        network_.layers.push_back(layer);
    }

    std::size_t convolution(std::int32_t channels, std::int32_t kernel, std::int32_t stride,
                            std::int32_t padding, bool bias) {
        ImageLayer layer = next(LayerKind::convolution);
        layer.kernel = kernel;
        layer.stride = stride;
        layer.padding = padding;
        layer.out.channels = channels;
        layer.out.height = (layer.in.height + 2 * padding - kernel) / stride + 1;
        layer.out.width = (layer.in.width + 2 * padding - kernel) / stride + 1;
        const auto inputs = static_cast<std::size_t>(layer.in.channels * kernel * kernel);
        const auto outputs = static_cast<std::size_t>(channels);
        add_tensors(layer, fmt::format("conv{}", convolutions_++), outputs * inputs,
                    bias ? outputs : 0);
        return add(layer);
    }
    std::size_t normalisation() {
        ImageLayer layer = next(LayerKind::normalisation);
        const auto channels = static_cast<std::size_t>(layer.in.channels);
        add_tensors(layer, fmt::format("norm{}", normalisations_++), channels, channels);
        return add(layer);
    }
    std::size_t rectifier() { return add(next(LayerKind::rectifier)); }
    std::size_t max_pool() {
        ImageLayer layer = next(LayerKind::max_pool);
        layer.kernel = layer.stride = 2;
        layer.out.height /= 2;
        layer.out.width /= 2;
        return add(layer);
    }
    std::size_t average_pool() {
        ImageLayer layer = next(LayerKind::average_pool);
        layer.out.height = layer.out.width = 1;
        return add(layer);
    }
    std::size_t dense(std::int32_t outputs) {
        ImageLayer layer = next(LayerKind::dense);
        layer.out = {outputs, 1, 1};
        const auto count = static_cast<std::size_t>(outputs);
        add_tensors(layer, fmt::format("dense{}", dense_++),
                    count * static_cast<std::size_t>(layer.in.size()), count);
        return add(layer);
    }
    std::size_t add_shortcut(std::size_t shortcut) {
        ImageLayer layer = next(LayerKind::add);
        layer.shortcut = shortcut;
        layer.stride = network_.layers[shortcut].out.height / layer.in.height;
        return add(layer);
    }
    std::size_t last() const { return network_.layers.size() - 1; }
    ImageNetwork take() { return std::move(network_); }

private:
    ImageLayer next(LayerKind kind) const {
        ImageLayer layer;
        layer.kind = kind;
        layer.from = last();
        layer.in = layer.out = network_.layers.back().out;
        return layer;
    }
    void add_tensors(ImageLayer& layer, const std::string& name, std::size_t weights,
                     std::size_t biases) {
        layer.first_tensor = network_.tensors.size();
        const auto tensor = [&](const char* part, std::size_t count, std::size_t columns) {
            const std::size_t begin = network_.parameter_count;
            network_.tensors.push_back({fmt::format("{}.{}", name, part), begin, count, columns});
            network_.parameter_count += count;
            ++layer.tensor_count;
            return begin;
        };
        layer.weight =
            tensor("weight", weights, weights / static_cast<std::size_t>(layer.out.channels));
        layer.weight_count = weights;
        if (biases > 0) layer.bias = tensor("bias", biases, 1);
        layer.bias_count = biases;
    }
    std::size_t add(const ImageLayer& layer) {
        network_.layers.push_back(layer);
        return last();
    }

    ImageNetwork network_;
    int convolutions_ = 0;
    int normalisations_ = 0;
    int dense_ = 0;
};

void add_cnn(Builder& net, std::int32_t filters, std::int32_t classes) {
    net.convolution(filters, 3, 1, 0, true);
    net.rectifier();
    net.max_pool();
    net.dense(classes);
}

void add_lenet5(Builder& net, std::int32_t classes) {
    net.convolution(20, 5, 1, 0, true);
    net.max_pool();
    net.convolution(50, 5, 1, 0, true);
    net.max_pool();
    net.dense(500);
    net.rectifier();
    net.dense(classes);
}

void add_resnet(Builder& net, std::int32_t blocks, std::int32_t classes) {
    net.convolution(16, 3, 1, 1, false);
    net.normalisation();
    net.rectifier();
    for (const std::int32_t channels : {16, 32, 64}) {
        for (std::int32_t block = 0; block < blocks; ++block) {
            const std::size_t shortcut = net.last();
            const std::int32_t stride = channels > 16 && block == 0 ? 2 : 1;
            net.convolution(channels, 3, stride, 1, false);
            net.normalisation();
            net.rectifier();
            net.convolution(channels, 3, 1, 1, false);
            net.normalisation();
            net.add_shortcut(shortcut);
            net.rectifier();
        }
    }
    net.average_pool();
    net.dense(classes);
}

}  // namespace

ImageShape image_shape(std::int32_t features) {
    if (const std::int32_t side = side_of(features)) return {1, side, side};
    const std::int32_t side = features % 3 == 0 ? side_of(features / 3) : 0;
    return side > 0 ? ImageShape{3, side, side} : ImageShape{0, 0, 0};
}

ImageNetwork image_network(std::string_view kind, std::int32_t features, std::int32_t classes,
                           std::int32_t filters) {
    const ImageShape shape = image_shape(features);
    const bool is_lenet = kind == "lenet5";
    const bool is_resnet = kind == "resnet20" || kind == "resnet32";
    const std::int32_t least = is_lenet ? 16 : 4;
    if (shape.height < least || (is_resnet && shape.height % 4 != 0)) {
        throw InputError("model", "/kind",
                         fmt::format("{} needs square images of at least {} pixels a side{}, "
                                     "found {} features",
                                     kind, least, is_resnet ? ", a multiple of 4" : "", features));
    }
    Builder net(kind, shape);
    if (is_lenet) {
        add_lenet5(net, classes);
    } else if (is_resnet) {
        add_resnet(net, kind == "resnet20" ? 3 : 5, classes);
    } else {
        INVARIANT(kind == "cnn" && filters >= 1 && filters <= image_filters_max);
        add_cnn(net, filters, classes);
    }
    return net.take();
}

ImageNetwork network_of(const ModelSpec& spec, std::int32_t features, std::int32_t classes) {
    if (spec.kind != "softmax" && spec.kind != "mlp") {
        const bool is_cnn = spec.kind == "cnn";
        return image_network(spec.kind, features, classes, is_cnn ? spec.hidden.front() : 1);
    }
    Builder net(spec.kind, {features, 1, 1});
    for (const std::int32_t units : spec.hidden) {
        net.dense(units);
        net.rectifier();
    }
    net.dense(classes);
    ImageNetwork network = net.take();
    std::size_t number = 0;
    for (ImageLayer& layer : network.layers) {
        if (layer.kind != LayerKind::dense) continue;
        layer.by_columns = true;
        TensorSlice& weight = network.tensors[layer.first_tensor];
        weight.name = fmt::format("layer{}.weight", number);
        weight.columns = static_cast<std::size_t>(layer.out.channels);
        network.tensors[layer.first_tensor + 1].name = fmt::format("layer{}.bias", number++);
    }
    return network;
}

std::vector<double> ImageNetwork::initial_weights(std::uint64_t seed) const {
    std::vector<double> weights(parameter_count, 0.0);
    for (std::size_t node = 0; node < layers.size(); ++node) {
        const ImageLayer& layer = layers[node];
        if (layer.kind == LayerKind::normalisation) {
            for (std::size_t i = 0; i < layer.weight_count; ++i) weights[layer.weight + i] = 1;
        }
        const bool sums = layer.kind == LayerKind::convolution || layer.kind == LayerKind::dense;
        if (!sums) continue;
        RandomStream random(seed, fmt::format("model/{}", tensors[layer.first_tensor].name));
        const bool top = node + 1 == layers.size();
        const auto inputs = static_cast<double>(layer.weight_count) / layer.out.channels;
        const double deviation = std::sqrt((top ? 1.0 : 2.0) / inputs);
        for (std::size_t i = 0; i < layer.weight_count; ++i) {
            weights[layer.weight + i] = random.normal(0, deviation);
        }
    }
    return weights;
}

}  // namespace ukemi::kernels
