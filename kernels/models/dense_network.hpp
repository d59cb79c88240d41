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

namespace ukemi {

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

private:
    std::size_t layers() const { return units_.size() - 1; }
    void forward(std::span<const Scalar> weights, const DataSet& data,
                 std::span<const std::uint32_t> samples, Workspace& workspace) const;
    void backward(std::span<const Scalar> weights, std::span<Scalar> gradient, Workspace& workspace,
                  const Model::Finished& finished) const;

    std::vector<std::int32_t> units_;
    std::vector<TensorSlice> tensors_;  // weight and bias of each layer
    std::size_t parameter_count_ = 0;
};

extern template class DenseNetwork<float>;
extern template class DenseNetwork<double>;

// Eigen's blocking, and so the order of its sums, depends on the sizes of the CPU's caches: fixed,
// the same everywhere. Before the first product of any model.
void fix_cache_sizes();

// The network in single precision as a Model of the given kind; InputError if it is too large.
std::unique_ptr<Model> make_dense_model(std::string_view kind, std::vector<std::int32_t> units);

}  // namespace ukemi
