// image_gradient.hpp — an ImageNetwork on the CPU: scores, loss and gradient, by Eigen's products
// over unfolded images. Sums run in one order on one thread.
//
// Written for any scalar, so that the test can compare with finite differences in double.
#pragma once

#include <memory>
#include <vector>

#include "kernels/models/image_network.hpp"

namespace ukemi::kernels {

template <class Scalar>  // float or double
class ImageGradient {
public:
    explicit ImageGradient(const ImageNetwork& network) : network_(network) {}

    // As Model::gradient and Model::evaluate, with the samples taken image_samples_max at a time.
    BatchResult gradient(std::span<const Scalar> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<Scalar> gradient,
                         const Model::Finished& finished);
    BatchResult evaluate(std::span<const Scalar> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples);

    // The same in stages, of which the first `forward_stages` end with class scores and loss; at
    // most image_samples_max samples at once.
    std::size_t forward_stages() const { return network_.layers.size() + 1; }
    std::size_t stages() const { return forward_stages() + network_.layers.size() - 1; }
    void stage(std::size_t number, std::span<const Scalar> weights, const DataSet& data,
               std::span<const std::uint32_t> samples, std::span<Scalar> gradient,
               BatchResult& result, const Model::Finished& finished);

private:
    void load(const DataSet& data, std::span<const std::uint32_t> samples);
    void forward_layer(std::size_t node, const Scalar* weights);
    void score(const DataSet& data, std::span<const std::uint32_t> samples, BatchResult& result);
    void begin_backward();
    void backward_layer(std::size_t node, const Scalar* weights, Scalar* gradient);

    const ImageNetwork& network_;
    std::int64_t count_ = 0;                   // samples that are in it
    std::vector<std::vector<Scalar>> values_;  // outputs of the nodes
    std::vector<std::vector<Scalar>> deltas_;  // derivatives of the loss by them
    // Of a normalisation: mean and 1 ÷ deviation of each channel.
    std::vector<std::vector<Scalar>> statistics_;
    std::vector<Scalar> unfolded_;
    std::vector<Scalar> unfolded_delta_;
    std::vector<double> powers_;
};

// Bounds the memory; with normalisation it is also whose statistics are taken together.
inline constexpr std::size_t image_samples_max = 128;

extern template class ImageGradient<float>;
extern template class ImageGradient<double>;

}  // namespace ukemi::kernels
