// device_network.hpp — an ImageNetwork's gradient on a GPU: cuBLAS for the products, our kernels
// for the rest. It means Model::gradient of the same kind; sums run in another order. A network
// with normalisation takes image_samples_max samples of a replica at a time, because the CPU does:
// their statistics are part of what a gradient means.
//
// Everything is launched on one stream and nothing waits, so that a gradient can be captured as a
// graph; what it needs for its largest batch is allocated at once. One object serves one learner,
// or several replicas of the network at once (Model::gradients): every layer of all of them is one
// launch, and its products one batched product with a matrix of weights for each replica.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/image_layers.hpp"
#include "kernels/cuda/matrix_product.hpp"
#include "kernels/models/image_network.hpp"

namespace ukemi::kernels::cuda {

class DeviceNetwork {
public:
    // `network` outlives this object; the stream is the caller's. `samples_most` is of all replicas
    // together.
    DeviceNetwork(const ImageNetwork& network, int samples_most, cudaStream_t stream,
                  MatrixProducts::Use use = MatrixProducts::Use::cublas_if_there, int replicas = 1);
    DeviceNetwork(const DeviceNetwork&) = delete;
    DeviceNetwork& operator=(const DeviceNetwork&) = delete;

    // The mean gradient over the samples; `result` gets the loss, summed, and how many were right.
    // Of several replicas each has an equal share of the samples; weights, gradients (parameter
    // count each) and results (two numbers) stand one after the other. All pointers are the
    // device's.
    void gradient(const float* weights, const float* values, const std::uint8_t* labels,
                  int samples, float* gradient, double* result);
    // The sum over the samples instead. `finished(node)` is called for every layer with tensors,
    // from the last to the first, once all that makes its part of the gradient has been launched;
    // it may launch what waits for that. Not while a graph is captured.
    using Finished = std::function<void(std::size_t node)>;
    void sum_gradient(const float* weights, const float* values, const std::uint8_t* labels,
                      int samples, float* gradient, double* result, const Finished& finished);
    std::size_t bytes() const { return bytes_; }  // that it has allocated for activations
    std::string products_by() const { return products_.by(); }

private:
    // What goes through all layers together.
    struct Pass {
        const float* weights;
        const float* values;
        const std::uint8_t* labels;
        int samples;
        int replicas;
        float* gradient;
        double* result;
    };
    void carry_out(const Pass& pass, const Finished& finished);
    LayerShape shape_of(const ImageLayer& layer, const Pass& pass) const;
    std::int64_t replica_stride() const {
        return static_cast<std::int64_t>(network_.parameter_count);
    }
    void forward(std::size_t node, const Pass& pass);
    void backward(std::size_t node, const Pass& pass);
    void convolve(const ImageLayer& layer, const LayerShape& shape, const float* weights,
                  const float* in, float* out);
    void convolve_back(const ImageLayer& layer, const LayerShape& shape, const float* weights,
                       const float* in, const float* delta, float* gradient, float* below);
    void dense(const ImageLayer& layer, const LayerShape& shape, const float* weights,
               const float* in, float* out);
    void dense_back(const ImageLayer& layer, const LayerShape& shape, const float* weights,
                    const float* in, const float* delta, float* gradient, float* below);
    const float* output(std::size_t node) const;
    float* delta(std::size_t node) const { return deltas_.data() + delta_begins_[node]; }

    const ImageNetwork& network_;
    int samples_most_;
    int replicas_;
    int pass_most_;  // samples of a pass
    cudaStream_t stream_;
    MatrixProducts products_;
    const float* input_ = nullptr;
    std::size_t bytes_ = 0;
    std::vector<Buffer<float>> values_;      // of every node but the first
    std::vector<std::size_t> delta_begins_;  // of every node, in one piece, cleared at once
    Buffer<float> deltas_;
    std::vector<Buffer<float>> statistics_;  // of every node; empty but for normalisations
    Buffer<double> channel_sums_;            // of a normalisation
    Buffer<float> unfolded_;
    Buffer<float> unfolded_delta_;
    Buffer<float> partial_;  // weights' gradients, sample by sample
    Buffer<double> losses_;
};

}  // namespace ukemi::kernels::cuda
