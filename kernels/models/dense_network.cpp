// dense_network.cpp — forward and backward with Eigen's matrix products; samples are columns.
//
// Equal bits need three things. Eigen shall not split a product over threads, because the split
// would depend on how many there are. Its blocking, so the order of its sums, depends on the sizes
// of the CPU's caches: they are fixed here. And what is not a matrix product is a plain loop, since
// Eigen's reductions go by the alignment of their operands and libm's exp by the CPU.
#include "kernels/models/dense_network.hpp"

#define EIGEN_DONT_PARALLELIZE
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "kernels/models/softmax_loss.hpp"
#include "kernels/models/stages.hpp"

namespace ukemi::kernels {
namespace {

template <class Scalar>
using ColumnMatrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

template <class Scalar>
void add_to(Scalar* __restrict to, const Scalar* __restrict from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

// Selected and not branched on, so that a step takes as long whatever is active: half of a trained
// network's units are at random, and each wrong guess of a branch costs more than the sum.
template <class Scalar>
void rectify(Scalar* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] = values[i] > 0 ? values[i] : Scalar{0};
}
template <class Scalar>
void keep_where_active(Scalar* __restrict delta, const Scalar* __restrict active,
                       std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) delta[i] = active[i] > 0 ? delta[i] : Scalar{0};
}

}  // namespace

// Eigen keeps the sizes in a static of its own, which products read: set once, before the first.
void fix_cache_sizes() {
    static const bool done = [] {
        Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
        return true;
    }();
    INVARIANT(done);
}

template <class Scalar>
struct DenseNetwork<Scalar>::Workspace {
    std::vector<ColumnMatrix<Scalar>> activations;  // [0]: the samples; the last: class scores
    ColumnMatrix<Scalar> delta;                     // derivative by the layer's sums
    ColumnMatrix<Scalar> delta_below;
    std::vector<std::uint8_t> labels;
    std::vector<double> powers;
};

template <class Scalar>
void DenseNetwork<Scalar>::WorkspaceDeleter::operator()(Workspace* workspace) const {
    delete workspace;
}

template <class Scalar>
DenseNetwork<Scalar>::DenseNetwork(std::vector<std::int32_t> units) : units_(std::move(units)) {
    INVARIANT(units_.size() >= 2 && std::ranges::all_of(units_, [](auto n) { return n >= 1; }));
    fix_cache_sizes();
    for (std::size_t layer = 0; layer < layers(); ++layer) {
        const auto inputs = static_cast<std::size_t>(units_[layer]);
        const auto outputs = static_cast<std::size_t>(units_[layer + 1]);
        const auto add = [&](const char* part, std::size_t rows, std::size_t columns) {
            const std::size_t count = rows * columns;
            tensors_.push_back(
                {fmt::format("layer{}.{}", layer, part), parameter_count_, count, columns});
            parameter_count_ += count;
        };
        add("weight", inputs, outputs);  // column after column of outputs × inputs
        add("bias", outputs, 1);
    }
}

template <class Scalar>
std::vector<Scalar> DenseNetwork<Scalar>::initial_weights(std::uint64_t seed) const {
    std::vector<Scalar> weights(parameter_count_, Scalar{0});
    for (std::size_t layer = 0; layer < layers(); ++layer) {
        const TensorSlice& tensor = tensors_[2 * layer];
        RandomStream random(seed, fmt::format("model/{}", tensor.name));
        const bool top = layer + 1 == layers();
        const double deviation = std::sqrt((top ? 1.0 : 2.0) / units_[layer]);
        for (std::size_t i = 0; i < tensor.count; ++i) {
            weights[tensor.begin + i] = static_cast<Scalar>(random.normal(0, deviation));
        }
    }
    return weights;
}

template <class Scalar>
auto DenseNetwork<Scalar>::make_workspace() const -> std::unique_ptr<Workspace, WorkspaceDeleter> {
    auto workspace = std::unique_ptr<Workspace, WorkspaceDeleter>(new Workspace);
    workspace->activations.resize(units_.size());
    return workspace;
}

template <class Scalar>
void DenseNetwork<Scalar>::load(const DataSet& data, std::span<const std::uint32_t> samples,
                                Workspace& workspace) const {
    workspace.labels.resize(samples.size());
    ColumnMatrix<Scalar>& input = workspace.activations.front();
    input.resize(units_.front(), static_cast<Eigen::Index>(samples.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::span<const float> sample = data.sample(samples[i]);
        std::ranges::transform(sample, input.data() + i * sample.size(),
                               [](float value) { return static_cast<Scalar>(value); });
        workspace.labels[i] = data.labels[samples[i]];
    }
}

template <class Scalar>
void DenseNetwork<Scalar>::forward_layer(std::size_t layer, std::span<const Scalar> weights,
                                         Workspace& workspace) const {
    const Eigen::Map<const ColumnMatrix<Scalar>> weight(weights.data() + tensors_[2 * layer].begin,
                                                        units_[layer + 1], units_[layer]);
    const Scalar* bias = weights.data() + tensors_[2 * layer + 1].begin;
    ColumnMatrix<Scalar>& output = workspace.activations[layer + 1];
    output.noalias() = weight * workspace.activations[layer];
    const bool rectified = layer + 1 < layers();
    const auto rows = static_cast<std::size_t>(output.rows());
    for (Eigen::Index column = 0; column < output.cols(); ++column) {
        Scalar* const sums = output.data() + column * output.rows();
        add_to(sums, bias, rows);
        if (rectified) rectify(sums, rows);
    }
}

template <class Scalar>
void DenseNetwork<Scalar>::score(Workspace& workspace, BatchResult& result) const {
    ColumnMatrix<Scalar>& scores = workspace.activations.back();
    BatchResult own;
    for (Eigen::Index column = 0; column < scores.cols(); ++column) {
        const std::span score(scores.data() + column * scores.rows(),
                              static_cast<std::size_t>(scores.rows()));
        softmax_loss(score, workspace.labels[static_cast<std::size_t>(column)], workspace.powers,
                     own);
    }
    result.loss_sum += own.loss_sum;
    result.correct += own.correct;
}

template <class Scalar>
void DenseNetwork<Scalar>::backward_layer(std::size_t layer, std::span<const Scalar> weights,
                                          std::span<Scalar> gradient, Workspace& workspace,
                                          const Model::Finished& finished) const {
    if (layer + 1 == layers()) std::swap(workspace.delta, workspace.activations.back());
    const ColumnMatrix<Scalar>& delta = workspace.delta;
    const ColumnMatrix<Scalar>& input = workspace.activations[layer];
    const TensorSlice& weight_slice = tensors_[2 * layer];
    Scalar* bias = gradient.data() + tensors_[2 * layer + 1].begin;
    for (Eigen::Index column = 0; column < delta.cols(); ++column) {
        add_to(bias, delta.data() + column * delta.rows(), static_cast<std::size_t>(delta.rows()));
    }
    if (finished) finished(2 * layer + 1);
    Eigen::Map<ColumnMatrix<Scalar>>(gradient.data() + weight_slice.begin, delta.rows(),
                                     input.rows())
        .noalias() += delta * input.transpose();
    if (finished) finished(2 * layer);
    if (layer == 0) return;
    const Eigen::Map<const ColumnMatrix<Scalar>> weight(weights.data() + weight_slice.begin,
                                                        units_[layer + 1], units_[layer]);
    workspace.delta_below.noalias() = weight.transpose() * delta;
    keep_where_active(workspace.delta_below.data(), input.data(),
                      static_cast<std::size_t>(input.size()));
    std::swap(workspace.delta, workspace.delta_below);
}

template <class Scalar>
void DenseNetwork<Scalar>::stage(std::size_t number, std::span<const Scalar> weights,
                                 const DataSet& data, std::span<const std::uint32_t> samples,
                                 std::span<Scalar> gradient, Workspace& workspace,
                                 BatchResult& result, const Model::Finished& finished) const {
    if (number == 0) return load(data, samples, workspace);
    if (number <= layers()) return forward_layer(number - 1, weights, workspace);
    if (number < forward_stages()) return score(workspace, result);
    const std::size_t layer = stages() - 1 - number;
    backward_layer(layer, weights, gradient, workspace, finished);
}

template <class Scalar>
BatchResult DenseNetwork<Scalar>::gradient(std::span<const Scalar> weights, const DataSet& data,
                                           std::span<const std::uint32_t> samples,
                                           std::span<Scalar> gradient, Workspace& workspace,
                                           const Model::Finished& finished) const {
    INVARIANT(weights.size() == parameter_count_ && gradient.size() == parameter_count_);
    INVARIANT(data.features == units_.front() && data.classes == units_.back());
    BatchResult result;
    if (samples.empty() && finished) {
        for (std::size_t tensor = tensors_.size(); tensor-- > 0;) finished(tensor);
    }
    while (!samples.empty()) {
        const auto chunk = samples.first(std::min(samples.size(), dense_samples_max));
        samples = samples.subspan(chunk.size());
        const Model::Finished told = samples.empty() ? finished : Model::Finished();
        for (std::size_t number = 0; number < stages(); ++number) {
            stage(number, weights, data, chunk, gradient, workspace, result, told);
        }
    }
    return result;
}

template <class Scalar>
BatchResult DenseNetwork<Scalar>::evaluate(std::span<const Scalar> weights, const DataSet& data,
                                           std::span<const std::uint32_t> samples,
                                           Workspace& workspace) const {
    INVARIANT(weights.size() == parameter_count_);
    INVARIANT(data.features == units_.front() && data.classes == units_.back());
    BatchResult result;
    while (!samples.empty()) {
        const auto chunk = samples.first(std::min(samples.size(), dense_samples_max));
        samples = samples.subspan(chunk.size());
        for (std::size_t number = 0; number < forward_stages(); ++number) {
            stage(number, weights, data, chunk, {}, workspace, result, {});
        }
    }
    return result;
}

template class DenseNetwork<float>;
template class DenseNetwork<double>;

namespace {

class DenseModel final : public Model {
public:
    DenseModel(std::string_view kind, std::vector<std::int32_t> units)
        : kind_(kind), network_(std::move(units)) {}

    std::string_view kind() const override { return kind_; }
    std::span<const TensorSlice> tensors() const override { return network_.tensors(); }
    std::size_t parameter_count() const override { return network_.parameter_count(); }
    std::vector<float> initial_weights(std::uint64_t seed) const override {
        return network_.initial_weights(seed);
    }
    std::unique_ptr<Model::Workspace> make_workspace() const override {
        auto workspace = std::make_unique<Workspace>();
        workspace->buffers = network_.make_workspace();
        return workspace;
    }
    BatchResult gradient(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<float> gradient,
                         Model::Workspace& workspace, const Finished& finished) const override {
        return network_.gradient(weights, data, samples, gradient, buffers_of(workspace), finished);
    }
    void gradients(std::span<ReplicaBatch> replicas) const override {
        stages_together(replicas, dense_samples_max, network_.stages(),
                        [&](std::size_t number, ReplicaBatch& one, auto samples) {
                            network_.stage(number, one.weights, *one.data, samples, one.gradient,
                                           buffers_of(*one.workspace), one.result, {});
                        });
    }
    BatchResult evaluate(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples,
                         Model::Workspace& workspace) const override {
        return network_.evaluate(weights, data, samples, buffers_of(workspace));
    }

private:
    using Network = DenseNetwork<float>;
    struct Workspace final : Model::Workspace {
        std::unique_ptr<Network::Workspace, Network::WorkspaceDeleter> buffers;
    };
    static Network::Workspace& buffers_of(Model::Workspace& workspace) {
        auto* own = dynamic_cast<Workspace*>(&workspace);
        INVARIANT(own != nullptr);
        return *own->buffers;
    }

    std::string kind_;
    Network network_;
};

}  // namespace

std::unique_ptr<Model> make_dense_model(std::string_view kind, std::vector<std::int32_t> units) {
    constexpr std::int64_t parameters_max = std::int64_t{1} << 28;  // 1 GiB a copy
    std::int64_t parameters = 0;
    for (std::size_t layer = 0; layer + 1 < units.size(); ++layer) {
        parameters += (std::int64_t{units[layer]} + 1) * units[layer + 1];
    }
    if (parameters > parameters_max) {
        throw InputError("model", "",
                         fmt::format("expected a model of at most {} parameters, found {}",
                                     parameters_max, parameters));
    }
    return std::make_unique<DenseModel>(kind, std::move(units));
}

}  // namespace ukemi::kernels
