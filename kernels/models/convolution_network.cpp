#include "kernels/models/convolution_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "kernels/models/softmax_loss.hpp"

namespace ukemi {

namespace {
constexpr std::size_t kernel = 3;
constexpr std::size_t places = kernel * kernel;
}  // namespace

template <class Scalar>
ConvolutionNetwork<Scalar>::ConvolutionNetwork(std::int32_t side, std::int32_t filters,
                                               std::int32_t classes)
    : side_(static_cast<std::size_t>(side)),
      filters_(static_cast<std::size_t>(filters)),
      classes_(static_cast<std::size_t>(classes)),
      wide_(side_ - kernel + 1),
      halved_(wide_ / 2) {
    INVARIANT(side >= 4 && filters >= 1 && classes >= 1);
    const auto add = [&](std::string name, std::size_t count) {
        tensors_.push_back({std::move(name), parameter_count_, count});
        parameter_count_ += count;
    };
    add("layer0.weight", places * filters_);
    add("layer0.bias", filters_);
    add("layer1.weight", halved_ * halved_ * filters_ * classes_);
    add("layer1.bias", classes_);
}

template <class Scalar>
std::vector<Scalar> ConvolutionNetwork<Scalar>::initial_weights(std::uint64_t seed) const {
    std::vector<Scalar> weights(parameter_count_, Scalar{0});
    const auto draw = [&](const TensorSlice& tensor, double variance) {
        RandomStream random(seed, fmt::format("model/{}", tensor.name));
        for (std::size_t i = 0; i < tensor.count; ++i) {
            weights[tensor.begin + i] = static_cast<Scalar>(random.normal(0, std::sqrt(variance)));
        }
    };
    draw(tensors_[0], 2.0 / static_cast<double>(places));
    draw(tensors_[2], 1.0 / static_cast<double>(halved_ * halved_ * filters_));
    return weights;
}

template <class Scalar>
auto ConvolutionNetwork<Scalar>::make_workspace() const -> Workspace {
    Workspace workspace;
    workspace.image.resize(side_ * side_);
    workspace.rectified.resize(wide_ * wide_ * filters_);
    workspace.pooled.resize(halved_ * halved_ * filters_);
    workspace.from.resize(workspace.pooled.size());
    workspace.pooled_change.resize(workspace.pooled.size());
    workspace.scores.resize(classes_);
    workspace.powers.resize(classes_);
    return workspace;
}

template <class Scalar>
void ConvolutionNetwork<Scalar>::convolve(std::span<const Scalar> weights,
                                          Workspace& workspace) const {
    const Scalar* weight = weights.data() + tensors_[0].begin;
    const Scalar* bias = weights.data() + tensors_[1].begin;
    for (std::size_t row = 0; row < wide_; ++row) {
        for (std::size_t column = 0; column < wide_; ++column) {
            Scalar* out = workspace.rectified.data() + (row * wide_ + column) * filters_;
            std::copy_n(bias, filters_, out);
            for (std::size_t place = 0; place < places; ++place) {
                const Scalar pixel =
                    workspace.image[(row + place / kernel) * side_ + column + place % kernel];
                for (std::size_t f = 0; f < filters_; ++f) {
                    out[f] += pixel * weight[place * filters_ + f];
                }
            }
            for (std::size_t f = 0; f < filters_; ++f) {
                if (!(out[f] > 0)) out[f] = 0;
            }
        }
    }
}

// The first of equal ones counts as the largest.
template <class Scalar>
void ConvolutionNetwork<Scalar>::pool(Workspace& workspace) const {
    for (std::size_t i = 0; i < workspace.pooled.size(); ++i) {
        const std::size_t filter = i % filters_;
        const std::size_t row = i / filters_ / halved_ * 2;
        const std::size_t column = i / filters_ % halved_ * 2;
        std::size_t best = (row * wide_ + column) * filters_ + filter;
        for (const std::size_t next :
             {best + filters_, best + wide_ * filters_, best + (wide_ + 1) * filters_}) {
            if (workspace.rectified[next] > workspace.rectified[best]) best = next;
        }
        workspace.from[i] = best;
        workspace.pooled[i] = workspace.rectified[best];
    }
}

template <class Scalar>
void ConvolutionNetwork<Scalar>::forward(std::span<const Scalar> weights,
                                         std::span<const float> sample, std::size_t label,
                                         Workspace& workspace, BatchResult& result) const {
    std::ranges::transform(sample, workspace.image.begin(),
                           [](float value) { return static_cast<Scalar>(value); });
    convolve(weights, workspace);
    pool(workspace);
    const Scalar* weight = weights.data() + tensors_[2].begin;
    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(tensors_[3].begin), classes_,
                workspace.scores.begin());
    for (std::size_t i = 0; i < workspace.pooled.size(); ++i) {
        for (std::size_t k = 0; k < classes_; ++k) {
            workspace.scores[k] += workspace.pooled[i] * weight[i * classes_ + k];
        }
    }
    softmax_loss(std::span<Scalar>(workspace.scores), label, workspace.powers, result);
}

template <class Scalar>
void ConvolutionNetwork<Scalar>::backward(std::span<const Scalar> weights,
                                          std::span<Scalar> gradient, Workspace& workspace) const {
    const std::vector<Scalar>& delta = workspace.scores;
    const Scalar* weight = weights.data() + tensors_[2].begin;
    Scalar* dense = gradient.data() + tensors_[2].begin;
    Scalar* dense_bias = gradient.data() + tensors_[3].begin;
    for (std::size_t k = 0; k < classes_; ++k) dense_bias[k] += delta[k];
    for (std::size_t i = 0; i < workspace.pooled.size(); ++i) {
        Scalar change = 0;
        for (std::size_t k = 0; k < classes_; ++k) {
            dense[i * classes_ + k] += workspace.pooled[i] * delta[k];
            change += weight[i * classes_ + k] * delta[k];
        }
        workspace.pooled_change[i] = workspace.pooled[i] > 0 ? change : Scalar{0};
    }
    Scalar* filter = gradient.data() + tensors_[0].begin;
    Scalar* bias = gradient.data() + tensors_[1].begin;
    for (std::size_t i = 0; i < workspace.pooled.size(); ++i) {
        const Scalar change = workspace.pooled_change[i];
        if (change == 0) continue;
        const std::size_t f = i % filters_;
        const std::size_t row = workspace.from[i] / filters_ / wide_;
        const std::size_t column = workspace.from[i] / filters_ % wide_;
        bias[f] += change;
        for (std::size_t place = 0; place < places; ++place) {
            const Scalar pixel =
                workspace.image[(row + place / kernel) * side_ + column + place % kernel];
            filter[place * filters_ + f] += change * pixel;
        }
    }
}

template <class Scalar>
BatchResult ConvolutionNetwork<Scalar>::gradient(std::span<const Scalar> weights,
                                                 const DataSet& data,
                                                 std::span<const std::uint32_t> samples,
                                                 std::span<Scalar> gradient, Workspace& workspace,
                                                 const Model::Finished& finished) const {
    INVARIANT(weights.size() == parameter_count_ && gradient.size() == parameter_count_);
    BatchResult result;
    for (const std::uint32_t sample : samples) {
        forward(weights, data.sample(sample), data.labels[sample], workspace, result);
        backward(weights, gradient, workspace);
    }
    for (std::size_t tensor = tensors_.size(); finished && tensor-- > 0;) finished(tensor);
    return result;
}

template <class Scalar>
BatchResult ConvolutionNetwork<Scalar>::evaluate(std::span<const Scalar> weights,
                                                 const DataSet& data,
                                                 std::span<const std::uint32_t> samples,
                                                 Workspace& workspace) const {
    INVARIANT(weights.size() == parameter_count_);
    BatchResult result;
    for (const std::uint32_t sample : samples) {
        forward(weights, data.sample(sample), data.labels[sample], workspace, result);
    }
    return result;
}

template class ConvolutionNetwork<float>;
template class ConvolutionNetwork<double>;

}  // namespace ukemi
