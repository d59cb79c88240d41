#include "kernels/models/image_gradient.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "kernels/models/dense_network.hpp"
#include "kernels/models/image_layers.hpp"
#include "kernels/models/softmax_loss.hpp"
#include "kernels/models/stages.hpp"

namespace ukemi::kernels {

template <class Scalar>
void ImageGradient<Scalar>::forward_layer(std::size_t node, const Scalar* weights) {
    const ImageLayer& layer = network_.layers[node];
    const Scalar* in = values_[layer.from].data();
    std::vector<Scalar>& out = values_[node];
    switch (layer.kind) {
        case LayerKind::input: break;
        case LayerKind::convolution:
            image::convolve(layer, count_, weights, in, out.data(), unfolded_);
            break;
        case LayerKind::normalisation:
            image::normalise(layer, count_, weights, in, out.data(), statistics_[node]);
            break;
        case LayerKind::rectifier:
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i] > 0 ? in[i] : Scalar{0};
            break;
        case LayerKind::max_pool: image::pool(layer, count_, in, out.data()); break;
        case LayerKind::average_pool: image::average(layer, count_, in, out.data()); break;
        case LayerKind::dense: image::dense(layer, count_, weights, in, out.data()); break;
        case LayerKind::add:
            image::add(layer, network_.layers[layer.shortcut].out, count_, in,
                       values_[layer.shortcut].data(), out.data());
            break;
    }
}

template <class Scalar>
void ImageGradient<Scalar>::load(const DataSet& data, std::span<const std::uint32_t> samples) {
    const auto& layers = network_.layers;
    count_ = static_cast<std::int64_t>(samples.size());
    values_.resize(layers.size());
    statistics_.resize(layers.size());
    for (std::size_t node = 0; node < layers.size(); ++node) {
        values_[node].resize(samples.size() * static_cast<std::size_t>(layers[node].out.size()));
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto sample = data.sample(samples[i]);
        std::ranges::transform(sample, values_[0].data() + i * sample.size(),
                               [](float value) { return static_cast<Scalar>(value); });
    }
}

template <class Scalar>
void ImageGradient<Scalar>::score(const DataSet& data, std::span<const std::uint32_t> samples,
                                  BatchResult& result) {
    const auto classes = static_cast<std::size_t>(network_.layers.back().out.channels);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        softmax_loss(std::span(values_.back()).subspan(i * classes, classes),
                     data.labels[samples[i]], powers_, result);
    }
}

template <class Scalar>
void ImageGradient<Scalar>::backward_layer(std::size_t node, const Scalar* weights,
                                           Scalar* gradient) {
    const ImageLayer& layer = network_.layers[node];
    const Scalar* in = values_[layer.from].data();
    const Scalar* delta = deltas_[node].data();
    Scalar* below = layer.from == 0 ? nullptr : deltas_[layer.from].data();
    switch (layer.kind) {
        case LayerKind::input: break;
        case LayerKind::convolution:
            image::convolve_back(layer, count_, weights, in, delta, gradient, below, unfolded_,
                                 unfolded_delta_);
            break;
        case LayerKind::normalisation:
            image::normalise_back(layer, count_, weights, in, delta, gradient, below,
                                  statistics_[node]);
            break;
        case LayerKind::rectifier:
            for (std::size_t i = 0; i < deltas_[node].size(); ++i) {
                below[i] = in[i] > 0 ? below[i] + delta[i] : below[i];  // selected, not branched on
            }
            break;
        case LayerKind::max_pool: image::pool_back(layer, count_, in, delta, below); break;
        case LayerKind::average_pool: image::average_back(layer, count_, delta, below); break;
        case LayerKind::dense:
            image::dense_back(layer, count_, weights, in, delta, gradient, below);
            break;
        case LayerKind::add:
            image::add_back(layer, network_.layers[layer.shortcut].out, count_, delta, below,
                            deltas_[layer.shortcut].data());
            break;
    }
}

template <class Scalar>
void ImageGradient<Scalar>::begin_backward() {
    deltas_.resize(values_.size());
    for (std::size_t node = 1; node < values_.size(); ++node) {
        deltas_[node].assign(values_[node].size(), Scalar{0});
    }
    std::swap(deltas_.back(), values_.back());  // the loss has put its derivative there
}

template <class Scalar>
void ImageGradient<Scalar>::stage(std::size_t number, std::span<const Scalar> weights,
                                  const DataSet& data, std::span<const std::uint32_t> samples,
                                  std::span<Scalar> gradient, BatchResult& result,
                                  const Model::Finished& finished) {
    const std::size_t nodes = network_.layers.size();
    if (number == 0) return load(data, samples);
    if (number < nodes) return forward_layer(number, weights.data());
    if (number == nodes) return score(data, samples, result);
    const std::size_t node = stages() - number;
    if (node + 1 == nodes) begin_backward();
    backward_layer(node, weights.data(), gradient.data());
    const ImageLayer& layer = network_.layers[node];
    for (std::size_t tensor = layer.tensor_count; finished && tensor-- > 0;) {
        finished(layer.first_tensor + tensor);
    }
}

template <class Scalar>
BatchResult ImageGradient<Scalar>::gradient(std::span<const Scalar> weights, const DataSet& data,
                                            std::span<const std::uint32_t> samples,
                                            std::span<Scalar> gradient,
                                            const Model::Finished& finished) {
    INVARIANT(weights.size() == network_.parameter_count && gradient.size() == weights.size());
    INVARIANT(data.features == network_.layers.front().out.size());
    BatchResult sum;
    if (samples.empty() && finished) {
        for (std::size_t tensor = network_.tensors.size(); tensor-- > 0;) finished(tensor);
    }
    while (!samples.empty()) {
        const auto chunk = samples.first(std::min(samples.size(), image_samples_max));
        samples = samples.subspan(chunk.size());
        const Model::Finished told = samples.empty() ? finished : Model::Finished();
        for (std::size_t number = 0; number < stages(); ++number) {
            stage(number, weights, data, chunk, gradient, sum, told);
        }
    }
    return sum;
}

template <class Scalar>
BatchResult ImageGradient<Scalar>::evaluate(std::span<const Scalar> weights, const DataSet& data,
                                            std::span<const std::uint32_t> samples) {
    INVARIANT(weights.size() == network_.parameter_count);
    INVARIANT(data.features == network_.layers.front().out.size());
    BatchResult sum;
    while (!samples.empty()) {
        const auto chunk = samples.first(std::min(samples.size(), image_samples_max));
        samples = samples.subspan(chunk.size());
        for (std::size_t number = 0; number < forward_stages(); ++number) {
            stage(number, weights, data, chunk, {}, sum, {});
        }
    }
    return sum;
}

template class ImageGradient<float>;
template class ImageGradient<double>;

namespace {

class ImageModel final : public Model {
public:
    explicit ImageModel(ImageNetwork network) : network_(std::move(network)) { fix_cache_sizes(); }

    std::string_view kind() const override { return network_.kind; }
    std::span<const TensorSlice> tensors() const override { return network_.tensors; }
    std::size_t parameter_count() const override { return network_.parameter_count; }
    std::vector<float> initial_weights(std::uint64_t seed) const override {
        const std::vector<double> exact = network_.initial_weights(seed);
        std::vector<float> weights(exact.size());
        std::ranges::transform(exact, weights.begin(),
                               [](double weight) { return static_cast<float>(weight); });
        return weights;
    }
    std::unique_ptr<Model::Workspace> make_workspace() const override {
        return std::make_unique<Workspace>(network_);
    }
    BatchResult gradient(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<float> gradient,
                         Model::Workspace& workspace, const Finished& finished) const override {
        return buffers_of(workspace).gradient(weights, data, samples, gradient, finished);
    }
    void gradients(std::span<ReplicaBatch> replicas) const override {
        if (replicas.empty()) return;
        const std::size_t stages = buffers_of(*replicas.front().workspace).stages();
        stages_together(replicas, image_samples_max, stages,
                        [&](std::size_t number, ReplicaBatch& one, auto samples) {
                            buffers_of(*one.workspace)
                                .stage(number, one.weights, *one.data, samples, one.gradient,
                                       one.result, {});
                        });
    }
    BatchResult evaluate(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples,
                         Model::Workspace& workspace) const override {
        return buffers_of(workspace).evaluate(weights, data, samples);
    }

private:
    struct Workspace final : Model::Workspace {
        explicit Workspace(const ImageNetwork& network) : buffers(network) {}
        ImageGradient<float> buffers;
    };
    static ImageGradient<float>& buffers_of(Model::Workspace& workspace) {
        auto* own = dynamic_cast<Workspace*>(&workspace);
        INVARIANT(own != nullptr);
        return own->buffers;
    }

    ImageNetwork network_;
};

std::unique_ptr<Model> make_image_model(const ModelSpec& spec, const DataSet& data) {
    return std::make_unique<ImageModel>(network_of(spec, data.features, data.classes));
}

}  // namespace

std::unique_ptr<Model> make_cnn(const ModelSpec& spec, const DataSet& data) {
    if (spec.hidden.size() != 1 || spec.hidden[0] < 1 || spec.hidden[0] > image_filters_max) {
        throw InputError(
            "model", "/hidden",
            fmt::format("expected one number of filters from 1 to {}", image_filters_max));
    }
    return make_image_model(spec, data);
}
std::unique_ptr<Model> make_lenet5(const ModelSpec& spec, const DataSet& data) {
    return make_image_model(spec, data);
}
std::unique_ptr<Model> make_resnet20(const ModelSpec& spec, const DataSet& data) {
    return make_image_model(spec, data);
}
std::unique_ptr<Model> make_resnet32(const ModelSpec& spec, const DataSet& data) {
    return make_image_model(spec, data);
}

}  // namespace ukemi::kernels
