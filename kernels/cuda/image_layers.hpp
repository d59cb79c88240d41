// image_layers.hpp — launches of the layers of an ImageNetwork that are not matrix products. They
// mean kernels/models/image_layers.hpp; sums run in another order, always the same one.
//
// Several replicas of a network, each with a batch of its own, go through a layer in one launch.
// Weights, biases and gradients are given as the first replica's.
//
// Activations are planes, sample after sample. Backward launches add to derivatives by inputs, so
// that several users of one output add up; they are one after the other on one stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace ukemi::kernels::cuda {

struct PlaneShape {
    int channels = 1;
    int height = 1;
    int width = 1;
};

struct LayerShape {
    PlaneShape in;
    PlaneShape out;
    int kernel = 1;
    int stride = 1;
    int padding = 0;
    int samples = 0;             // of all replicas together
    int replicas = 1;            // each has an equal share of the samples, one after the other, …
    std::size_t parameters = 0;  // … and weights and gradients this far after the one before
    constexpr int samples_each() const { return samples / replicas; }
};

// Row (channel, tap), column pixel: in.channels · kernel² × out plane, sample after sample.
cudaError_t launch_unfold(const LayerShape& shape, const float* in, float* unfolded,
                          cudaStream_t stream);
// Its transpose: every pixel gathers what was made of it.
cudaError_t launch_fold(const LayerShape& shape, const float* unfolded_delta, float* delta_in,
                        cudaStream_t stream);

// Adds bias[c] to every value of channel c; and the sum over samples and plane to gradient[c].
cudaError_t launch_bias(const LayerShape& shape, const float* bias, float* out,
                        cudaStream_t stream);
cudaError_t launch_bias_gradient(const LayerShape& shape, const float* delta, float* gradient,
                                 cudaStream_t stream);
// gradient[i] += Σ over a replica's samples of partial[sample · count + i], always in one order.
cudaError_t launch_sum_samples(const LayerShape& shape, const float* partial, std::size_t count,
                               float* gradient, cudaStream_t stream);

// statistics: mean and 1 ÷ deviation of each channel, 2 × channels numbers a replica. The workspace
// is anybody's in between.
std::size_t normalise_workspace(int channels, int replicas);  // doubles
cudaError_t launch_normalise(const LayerShape& shape, const float* scale, const float* shift,
                             const float* in, float* out, float* statistics, double* workspace,
                             cudaStream_t stream);
cudaError_t launch_normalise_back(const LayerShape& shape, const float* scale, const float* in,
                                  const float* delta, const float* statistics,
                                  float* scale_gradient, float* shift_gradient, float* delta_in,
                                  double* workspace, cudaStream_t stream);

cudaError_t launch_rectify(const float* in, float* out, std::size_t count, cudaStream_t stream);
cudaError_t launch_rectify_back(const float* in, const float* delta, float* delta_in,
                                std::size_t count, cudaStream_t stream);

cudaError_t launch_max_pool(const LayerShape& shape, const float* in, float* out,
                            cudaStream_t stream);
cudaError_t launch_max_pool_back(const LayerShape& shape, const float* in, const float* delta,
                                 float* delta_in, cudaStream_t stream);
cudaError_t launch_average_pool(const LayerShape& shape, const float* in, float* out,
                                cudaStream_t stream);
cudaError_t launch_average_pool_back(const LayerShape& shape, const float* delta, float* delta_in,
                                     cudaStream_t stream);

// `there` is the shape of the shortcut; shape.stride as in ImageLayer.
cudaError_t launch_add(const LayerShape& shape, const PlaneShape& there, const float* in,
                       const float* other, float* out, cudaStream_t stream);
cudaError_t launch_add_back(const LayerShape& shape, const PlaneShape& there, const float* delta,
                            float* delta_in, float* delta_other, cudaStream_t stream);

// The derivative of the cross-entropy in place of `scores`; result: loss sum, correct ones, of each
// replica.
cudaError_t launch_softmax_loss(float* scores, const std::uint8_t* labels, int samples, int classes,
                                int replicas, double* loss_of_sample, double* result,
                                cudaStream_t stream);
cudaError_t launch_divide(float* values, std::size_t count, float divisor, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
