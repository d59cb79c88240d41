#include "kernels/cuda/device_network.hpp"

#include <algorithm>

#include "base/invariant.hpp"
#include "kernels/models/image_gradient.hpp"

namespace ukemi::kernels::cuda {

namespace {

PlaneShape plane(const ImageShape& shape) { return {shape.channels, shape.height, shape.width}; }

std::size_t inputs_of(const ImageLayer& layer) {
    return layer.weight_count / static_cast<std::size_t>(layer.out.channels);
}

std::size_t values_of(const ImageLayer& layer, int samples) {
    return static_cast<std::size_t>(samples) * static_cast<std::size_t>(layer.out.size());
}

// Of the layers of this kind, the most that `of` says.
template <class Of>
std::size_t most_of(const ImageNetwork& network, LayerKind kind, Of of) {
    std::size_t most = 0;
    for (const ImageLayer& layer : network.layers) {
        if (layer.kind == kind) most = std::max(most, static_cast<std::size_t>(of(layer)));
    }
    return most;
}

// Of the derivatives of so many samples: where each node's begin, and how many there are in all.
// Products go faster from where memory of its own would begin.
std::vector<std::size_t> begins_of(const ImageNetwork& network, std::size_t samples) {
    std::vector<std::size_t> begins{0};
    for (const ImageLayer& layer : network.layers) {
        const bool is_input = layer.kind == LayerKind::input;
        const std::size_t of_one = is_input ? 0 : static_cast<std::size_t>(layer.out.size());
        constexpr std::size_t line = 64;
        begins.push_back(begins.back() + (samples * of_one + line - 1) / line * line);
    }
    return begins;
}

// Of one replica, whose statistics are taken together.
int statistics_most(const ImageNetwork& network, int samples) {
    const bool normalises = std::ranges::any_of(network.layers, [](const ImageLayer& layer) {
        return layer.kind == LayerKind::normalisation;
    });
    return normalises ? std::min(samples, static_cast<int>(image_samples_max)) : samples;
}

std::size_t unfolded_of(const ImageNetwork& network) {
    return most_of(network, LayerKind::convolution, [](const ImageLayer& layer) {
        return inputs_of(layer) * static_cast<std::size_t>(layer.out.plane());
    });
}

}  // namespace

DeviceNetwork::DeviceNetwork(const ImageNetwork& network, int samples_most, cudaStream_t stream,
                             MatrixProducts::Use use, int replicas)
    : network_(network),
      samples_most_(samples_most),
      replicas_(replicas),
      pass_most_(std::min(samples_most, replicas * statistics_most(network, samples_most))),
      stream_(stream),
      products_(stream, use, replicas > 1 ? static_cast<std::size_t>(pass_most_) : 0),
      delta_begins_(begins_of(network, static_cast<std::size_t>(pass_most_))),
      deltas_(delta_begins_.back()),
      channel_sums_(normalise_workspace(
          static_cast<int>(most_of(network, LayerKind::normalisation,
                                   [](const ImageLayer& layer) { return layer.out.channels; })),
          replicas)),
      unfolded_(unfolded_of(network) * static_cast<std::size_t>(pass_most_)),
      unfolded_delta_(unfolded_.size()),
      partial_(static_cast<std::size_t>(pass_most_) *
               most_of(network, LayerKind::convolution,
                       [](const ImageLayer& layer) { return layer.weight_count; })),
      losses_(2 * static_cast<std::size_t>(pass_most_)) {
    INVARIANT(samples_most >= 1 && replicas >= 1);
    const auto whole = static_cast<std::size_t>(pass_most_);
    for (const ImageLayer& layer : network.layers) {
        const bool is_input = layer.kind == LayerKind::input;
        const std::size_t count = is_input ? 0 : whole * static_cast<std::size_t>(layer.out.size());
        values_.emplace_back(count);
        const bool normalises = layer.kind == LayerKind::normalisation;
        statistics_.emplace_back(
            normalises ? 2 * layer.weight_count * static_cast<std::size_t>(replicas) : 0);
        bytes_ += (count + statistics_.back().size()) * sizeof(float);
    }
    bytes_ += (deltas_.size() + unfolded_.size() + unfolded_delta_.size() + partial_.size()) *
                  sizeof(float) +
              (losses_.size() + channel_sums_.size()) * sizeof(double);
}

LayerShape DeviceNetwork::shape_of(const ImageLayer& layer, const Pass& pass) const {
    return {plane(layer.in), plane(layer.out), layer.kernel,  layer.stride,
            layer.padding,   pass.samples,     pass.replicas, network_.parameter_count};
}

const float* DeviceNetwork::output(std::size_t node) const {
    return node == 0 ? input_ : values_[node].data();
}

void DeviceNetwork::convolve(const ImageLayer& layer, const LayerShape& shape, const float* weights,
                             const float* in, float* out) {
    check(launch_unfold(shape, in, unfolded_.data(), stream_));
    const auto inputs = static_cast<int>(inputs_of(layer));
    const auto pixels = static_cast<int>(layer.out.plane());
    const std::int64_t each = shape.samples_each();
    const std::int64_t unfolded_size = std::int64_t{inputs} * pixels;
    products_.product({layer.out.channels, pixels, inputs, shape.samples, shape.replicas},
                      rows_of(weights + layer.weight, inputs, 0, replica_stride()),
                      rows_of(unfolded_.data(), pixels, unfolded_size, each * unfolded_size), out,
                      layer.out.size(), false, each * layer.out.size());
    if (layer.bias_count > 0) check(launch_bias(shape, weights + layer.bias, out, stream_));
}

void DeviceNetwork::convolve_back(const ImageLayer& layer, const LayerShape& shape,
                                  const float* weights, const float* in, const float* delta,
                                  float* gradient, float* below) {
    check(launch_unfold(shape, in, unfolded_.data(), stream_));
    const auto outputs = layer.out.channels;
    const auto inputs = static_cast<int>(inputs_of(layer));
    const auto pixels = static_cast<int>(layer.out.plane());
    const std::int64_t unfolded_size = std::int64_t{inputs} * pixels;
    const std::int64_t each = shape.samples_each();
    const MatrixView own = rows_of(delta, pixels, layer.out.size(), each * layer.out.size());
    // Sample by sample, then summed in their order: one order with cuBLAS and without.
    products_.product({outputs, inputs, pixels, shape.samples}, own,
                      rows_of(unfolded_.data(), pixels, unfolded_size).transposed(),
                      partial_.data(), static_cast<std::int64_t>(layer.weight_count), false);
    check(launch_sum_samples(shape, partial_.data(), layer.weight_count, gradient + layer.weight,
                             stream_));
    if (layer.bias_count > 0) {
        check(launch_bias_gradient(shape, delta, gradient + layer.bias, stream_));
    }
    if (below == nullptr) return;  // nobody asks how pixels should have been
    products_.product({inputs, pixels, outputs, shape.samples, shape.replicas},
                      rows_of(weights + layer.weight, inputs, 0, replica_stride()).transposed(),
                      own, unfolded_delta_.data(), unfolded_size, false, each * unfolded_size);
    check(launch_fold(shape, unfolded_delta_.data(), below, stream_));
}

namespace {

// Outputs × inputs, whichever way it lies.
MatrixView weight_of(const ImageLayer& layer, const float* weights, std::int64_t stride) {
    const float* at = weights + layer.weight;
    return layer.by_columns ? rows_of(at, layer.out.channels, 0, stride).transposed()
                            : rows_of(at, layer.in.size(), 0, stride);
}

}  // namespace

void DeviceNetwork::dense(const ImageLayer& layer, const LayerShape& shape, const float* weights,
                          const float* in, float* out) {
    const auto inputs = static_cast<int>(layer.in.size());
    const int each = shape.samples_each();
    products_.product({each, layer.out.channels, inputs, shape.replicas, shape.replicas},
                      rows_of(in, inputs, 0, std::int64_t{each} * inputs),
                      weight_of(layer, weights, replica_stride()).transposed(), out, 0, false,
                      std::int64_t{each} * layer.out.channels);
    check(launch_bias(shape, weights + layer.bias, out, stream_));
}

void DeviceNetwork::dense_back(const ImageLayer& layer, const LayerShape& shape,
                               const float* weights, const float* in, const float* delta,
                               float* gradient, float* below) {
    const auto outputs = layer.out.channels;
    const auto inputs = static_cast<int>(layer.in.size());
    const int each = shape.samples_each();
    const int replicas = shape.replicas;
    const MatrixView input = rows_of(in, inputs, 0, std::int64_t{each} * inputs);
    const MatrixView own = rows_of(delta, outputs, 0, std::int64_t{each} * outputs);
    float* into = gradient + layer.weight;
    if (layer.by_columns) {
        products_.product({inputs, outputs, each, replicas, replicas}, input.transposed(), own,
                          into, 0, true, replica_stride());
    } else {
        products_.product({outputs, inputs, each, replicas, replicas}, own.transposed(), input,
                          into, 0, true, replica_stride());
    }
    check(launch_bias_gradient(shape, delta, gradient + layer.bias, stream_));
    if (below == nullptr) return;
    products_.product({each, inputs, outputs, replicas, replicas}, own,
                      weight_of(layer, weights, replica_stride()), below, 0, true,
                      std::int64_t{each} * inputs);
}

void DeviceNetwork::forward(std::size_t node, const Pass& pass) {
    const ImageLayer& layer = network_.layers[node];
    const LayerShape shape = shape_of(layer, pass);
    const float* in = output(layer.from);
    float* out = values_[node].data();
    switch (layer.kind) {
        case LayerKind::input: break;
        case LayerKind::convolution: convolve(layer, shape, pass.weights, in, out); break;
        case LayerKind::normalisation:
            check(launch_normalise(shape, pass.weights + layer.weight, pass.weights + layer.bias,
                                   in, out, statistics_[node].data(), channel_sums_.data(),
                                   stream_));
            break;
        case LayerKind::rectifier:
            check(launch_rectify(in, out, values_of(layer, pass.samples), stream_));
            break;
        case LayerKind::max_pool: check(launch_max_pool(shape, in, out, stream_)); break;
        case LayerKind::average_pool: check(launch_average_pool(shape, in, out, stream_)); break;
        case LayerKind::dense: dense(layer, shape, pass.weights, in, out); break;
        case LayerKind::add:
            check(launch_add(shape, plane(network_.layers[layer.shortcut].out), in,
                             output(layer.shortcut), out, stream_));
            break;
    }
}

void DeviceNetwork::backward(std::size_t node, const Pass& pass) {
    const ImageLayer& layer = network_.layers[node];
    const LayerShape shape = shape_of(layer, pass);
    const float* in = output(layer.from);
    const float* own = delta(node);
    float* below = layer.from == 0 ? nullptr : delta(layer.from);
    const std::size_t values = values_of(layer, pass.samples);
    switch (layer.kind) {
        case LayerKind::input: break;
        case LayerKind::convolution:
            convolve_back(layer, shape, pass.weights, in, own, pass.gradient, below);
            break;
        case LayerKind::normalisation:
            check(launch_normalise_back(shape, pass.weights + layer.weight, in, own,
                                        statistics_[node].data(), pass.gradient + layer.weight,
                                        pass.gradient + layer.bias, below, channel_sums_.data(),
                                        stream_));
            break;
        case LayerKind::rectifier:
            check(launch_rectify_back(in, own, below, values, stream_));
            break;
        case LayerKind::max_pool:
            check(launch_max_pool_back(shape, in, own, below, stream_));
            break;
        case LayerKind::average_pool:
            check(launch_average_pool_back(shape, own, below, stream_));
            break;
        case LayerKind::dense:
            dense_back(layer, shape, pass.weights, in, own, pass.gradient, below);
            break;
        case LayerKind::add:
            check(launch_add_back(shape, plane(network_.layers[layer.shortcut].out), own, below,
                                  delta(layer.shortcut), stream_));
            break;
    }
}

void DeviceNetwork::gradient(const float* weights, const float* values, const std::uint8_t* labels,
                             int samples, float* gradient, double* result) {
    sum_gradient(weights, values, labels, samples, gradient, result, {});
    check(launch_divide(gradient, static_cast<std::size_t>(replicas_) * network_.parameter_count,
                        static_cast<float>(samples / replicas_), stream_));
}

void DeviceNetwork::sum_gradient(const float* weights, const float* values,
                                 const std::uint8_t* labels, int samples, float* gradient,
                                 double* result, const Finished& finished) {
    INVARIANT(samples >= 1 && samples <= samples_most_ && samples % replicas_ == 0);
    const auto replicas = static_cast<std::size_t>(replicas_);
    check(
        cudaMemsetAsync(gradient, 0, replicas * network_.parameter_count * sizeof(float), stream_));
    check(cudaMemsetAsync(result, 0, replicas * 2 * sizeof(double), stream_));
    const int each = samples / replicas_;
    const int together = statistics_most(network_, each);
    if (together == each) {
        carry_out({weights, values, labels, samples, replicas_, gradient, result}, finished);
        return;
    }
    const auto features = static_cast<std::size_t>(network_.layers.front().out.size());
    for (int replica = 0; replica < replicas_; ++replica) {
        const std::size_t model = static_cast<std::size_t>(replica) * network_.parameter_count;
        for (int begin = 0; begin < each; begin += together) {
            const int count = std::min(together, each - begin);
            const auto first = static_cast<std::size_t>(replica * each + begin);
            const bool is_last = replica + 1 == replicas_ && begin + count == each;
            carry_out({weights + model, values + first * features, labels + first, count, 1,
                       gradient + model, result + 2 * replica},
                      is_last ? finished : Finished());
        }
    }
}

// Adds to the gradient and the result.
void DeviceNetwork::carry_out(const Pass& pass, const Finished& finished) {
    INVARIANT(pass.samples <= pass_most_);
    input_ = pass.values;
    check(cudaMemsetAsync(deltas_.data(), 0, deltas_.size() * sizeof(float), stream_));
    const std::size_t nodes = network_.layers.size();
    for (std::size_t node = 1; node < nodes; ++node) forward(node, pass);
    const auto classes = network_.layers.back().out.channels;
    check(launch_softmax_loss(values_.back().data(), pass.labels, pass.samples, classes,
                              pass.replicas, losses_.data(), pass.result, stream_));
    check(cudaMemcpyAsync(
        delta(nodes - 1), values_.back().data(),
        static_cast<std::size_t>(pass.samples) * static_cast<std::size_t>(classes) * sizeof(float),
        cudaMemcpyDeviceToDevice, stream_));
    for (std::size_t node = nodes; node-- > 1;) {
        backward(node, pass);
        if (finished && network_.layers[node].tensor_count > 0) finished(node);
    }
}

}  // namespace ukemi::kernels::cuda
