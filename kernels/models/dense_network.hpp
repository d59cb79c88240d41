// dense_network.hpp — dense layers with rectifiers between them, softmax and cross-entropy on top.
//
// Both models are this: softmax regression has no hidden layer. It is written for any scalar, so
// that the test can compare the gradient with finite differences in double; training uses float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/model.hpp"

namespace ukemi::kernels {

template <class Scalar>  // float or double
class DenseNetwork {
public:
    // Units of every layer: features, hidden…, classes.
    explicit DenseNetwork(std::vector<std::int32_t> units);

    std::span<const TensorSlice> tensors() const { return tensors_; }
    std::size_t parameter_count() const { return parameter_count_; }
    // Normal with a variance of 2 ÷ inputs before a rectifier (He et al., arXiv:1502.01852) and
    // 1 ÷ inputs before the softmax; biases zero. One random stream a tensor.
    std::vector<Scalar> initial_weights(std::uint64_t seed) const;

    struct Workspace;
    struct WorkspaceDeleter {
        void operator()(Workspace* workspace) const;
    };
    std::unique_ptr<Workspace, WorkspaceDeleter> make_workspace() const;

    // As Model::gradient.
    BatchResult gradient(std::span<const Scalar> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<Scalar> gradient,
                         Workspace& workspace, const Model::Finished& finished) const;
    BatchResult evaluate(std::span<const Scalar> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, Workspace& workspace) const;

    // The same in stages, of which the first `forward_stages` end with class scores and loss; at
    // most dense_samples_max samples at once.
    std::size_t forward_stages() const { return layers() + 2; }
    std::size_t stages() const { return forward_stages() + layers(); }
    void stage(std::size_t number, std::span<const Scalar> weights, const DataSet& data,
               std::span<const std::uint32_t> samples, std::span<Scalar> gradient,
               Workspace& workspace, BatchResult& result, const Model::Finished& finished) const;

private:
    std::size_t layers() const { return units_.size() - 1; }
    void load(const DataSet& data, std::span<const std::uint32_t> samples,
              Workspace& workspace) const;
    void forward_layer(std::size_t layer, std::span<const Scalar> weights,
                       Workspace& workspace) const;
    void score(Workspace& workspace, BatchResult& result) const;
    void backward_layer(std::size_t layer, std::span<const Scalar> weights,
                        std::span<Scalar> gradient, Workspace& workspace,
                        const Model::Finished& finished) const;

    std::vector<std::int32_t> units_;
    std::vector<TensorSlice> tensors_;  // weight and bias of each layer
    std::size_t parameter_count_ = 0;
};

// Samples that go through the network at once: bounds the memory of a workspace, and is part of
// the order of the sums.
inline constexpr std::size_t dense_samples_max = 512;

extern template class DenseNetwork<float>;
extern template class DenseNetwork<double>;

// Eigen's blocking, and so the order of its sums, depends on the sizes of the CPU's caches: fixed,
// the same everywhere. Before the first product of any model.
void fix_cache_sizes();

// The network in single precision as a Model of the given kind; InputError if it is too large.
std::unique_ptr<Model> make_dense_model(std::string_view kind, std::vector<std::int32_t> units);

}  // namespace ukemi::kernels
