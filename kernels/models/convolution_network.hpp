// convolution_network.hpp — a small convolutional network: 3×3 filters without padding, rectifiers,
// the largest of each 2×2, one dense layer, softmax and cross-entropy on top.
//
// Images are square and grey; where pooling leaves a row and a column over, nobody looks at them.
// Written for any scalar, so that the test can compare the gradient with finite differences in
// double. Plain loops, sample after sample: the order of the sums depends on nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/model.hpp"

namespace ukemi {

template <class Scalar>  // float or double
class ConvolutionNetwork {
public:
    // `side` of the images, at least 4.
    ConvolutionNetwork(std::int32_t side, std::int32_t filters, std::int32_t classes);

    // Weights [place in the 3×3][filter] and biases of the filters, then weights [pooled row]
    // [pooled column][filter][class] and biases of the dense layer.
    std::span<const TensorSlice> tensors() const { return tensors_; }
    std::size_t parameter_count() const { return parameter_count_; }
    // As DenseNetwork's.
    std::vector<Scalar> initial_weights(std::uint64_t seed) const;

    struct Workspace {
        std::vector<Scalar> image;
        std::vector<Scalar> rectified;      // [row][column][filter]
        std::vector<Scalar> pooled;         // [pooled row][pooled column][filter]
        std::vector<std::size_t> from;      // where in `rectified` each of `pooled` came from
        std::vector<Scalar> pooled_change;  // derivative of the loss by `pooled`
        std::vector<Scalar> scores;
        std::vector<double> powers;
    };
    Workspace make_workspace() const;

    // As Model::gradient; the tensors are all finished with the last sample.
    BatchResult gradient(std::span<const Scalar> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<Scalar> gradient,
                         Workspace& workspace, const Model::Finished& finished) const;
    BatchResult evaluate(std::span<const Scalar> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, Workspace& workspace) const;

private:
    void forward(std::span<const Scalar> weights, std::span<const float> sample, std::size_t label,
                 Workspace& workspace, BatchResult& result) const;
    void convolve(std::span<const Scalar> weights, Workspace& workspace) const;
    void pool(Workspace& workspace) const;
    void backward(std::span<const Scalar> weights, std::span<Scalar> gradient,
                  Workspace& workspace) const;

    std::size_t side_;
    std::size_t filters_;
    std::size_t classes_;
    std::size_t wide_;    // rows and columns after the convolution
    std::size_t halved_;  // after pooling
    std::vector<TensorSlice> tensors_;
    std::size_t parameter_count_ = 0;
};

extern template class ConvolutionNetwork<float>;
extern template class ConvolutionNetwork<double>;

}  // namespace ukemi
