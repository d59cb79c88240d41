// image_points.cu — rectifiers, pools, shortcuts and the loss.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/image_layers.hpp"

namespace ukemi::kernels::cuda {

namespace {

__host__ __device__ std::size_t plane_of(const PlaneShape& shape) {
    return static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
}
__host__ __device__ std::size_t size_of(const PlaneShape& shape) {
    return static_cast<std::size_t>(shape.channels) * plane_of(shape);
}
std::size_t outputs_of(const LayerShape& shape) {
    return static_cast<std::size_t>(shape.samples) * size_of(shape.out);
}

__global__ void __launch_bounds__(block_threads)
    rectify_kernel(const float* __restrict__ in, float* __restrict__ out, std::size_t count) {
    for_elements(count, [&](std::size_t i) { out[i] = in[i] > 0 ? in[i] : 0.0F; });
}
__global__ void __launch_bounds__(block_threads)
    rectify_back_kernel(const float* __restrict__ in, const float* __restrict__ delta,
                        float* __restrict__ delta_in, std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        if (in[i] > 0) delta_in[i] += delta[i];
    });
}

// Places are divided in 32 bits: a division of 64 takes a GPU as long as reading the number that it
// is about. Launches refuse more.
constexpr std::size_t places_max = 0xFFFF'FFFFU;

// Of the four pixels under output i, the place of the first that is largest.
__device__ std::size_t largest_of(const LayerShape& shape, const float* in, std::size_t i) {
    const auto plane = static_cast<unsigned>(plane_of(shape.out));
    const auto out_width = static_cast<unsigned>(shape.out.width);
    const auto width = static_cast<std::size_t>(shape.in.width);
    const unsigned image = static_cast<unsigned>(i) / plane;
    const unsigned pixel = static_cast<unsigned>(i) % plane;
    const std::size_t first = image * plane_of(shape.in) + 2 * (pixel / out_width) * width +
                              std::size_t{2} * (pixel % out_width);
    std::size_t best = first;
    const std::size_t others[3] = {first + 1, first + width, first + width + 1};
    for (const std::size_t other : others) {
        if (in[other] > in[best]) best = other;
    }
    return best;
}
__global__ void __launch_bounds__(block_threads)
    max_pool_kernel(LayerShape shape, const float* __restrict__ in, float* __restrict__ out,
                    std::size_t count) {
    for_elements(count, [&](std::size_t i) { out[i] = in[largest_of(shape, in, i)]; });
}
// Windows do not overlap, so no two outputs add to one input.
__global__ void __launch_bounds__(block_threads)
    max_pool_back_kernel(LayerShape shape, const float* __restrict__ in,
                         const float* __restrict__ delta, float* __restrict__ delta_in,
                         std::size_t count) {
    for_elements(count, [&](std::size_t i) { delta_in[largest_of(shape, in, i)] += delta[i]; });
}

__global__ void __launch_bounds__(block_threads)
    average_pool_kernel(std::size_t plane, const float* __restrict__ in, float* __restrict__ out,
                        std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        float sum = 0;
        for (std::size_t k = 0; k < plane; ++k) sum += in[i * plane + k];
        out[i] = sum / static_cast<float>(plane);
    });
}
__global__ void __launch_bounds__(block_threads)
    average_pool_back_kernel(unsigned plane, const float* __restrict__ delta,
                             float* __restrict__ delta_in, std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        delta_in[i] += delta[static_cast<unsigned>(i) / plane] / static_cast<float>(plane);
    });
}

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
__device__ std::size_t shortcut_place(const LayerShape& shape, const PlaneShape& there,
                                      std::size_t i) {
    if (shape.out.channels == there.channels && shape.stride == 1) return i;
    const auto plane = static_cast<unsigned>(plane_of(shape.out));
    const auto width = static_cast<unsigned>(shape.out.width);
    const auto channels = static_cast<unsigned>(shape.out.channels);
    const auto stride = static_cast<unsigned>(shape.stride);
    const unsigned image = static_cast<unsigned>(i) / plane;
    const unsigned pixel = static_cast<unsigned>(i) % plane;
    const unsigned channel = image % channels;
    if (channel >= static_cast<unsigned>(there.channels)) return nowhere;
    return image / channels * size_of(there) + channel * plane_of(there) +
           pixel / width * stride * static_cast<std::size_t>(there.width) + pixel % width * stride;
}
__global__ void __launch_bounds__(block_threads)
    add_kernel(LayerShape shape, PlaneShape there, const float* __restrict__ in,
               const float* __restrict__ other, float* __restrict__ out, std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        const std::size_t place = shortcut_place(shape, there, i);
        out[i] = in[i] + (place == nowhere ? 0.0F : other[place]);
    });
}
__global__ void __launch_bounds__(block_threads)
    add_back_kernel(LayerShape shape, PlaneShape there, const float* __restrict__ delta,
                    float* __restrict__ delta_in, float* __restrict__ delta_other,
                    std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        delta_in[i] += delta[i];
        const std::size_t place = shortcut_place(shape, there, i);
        if (place != nowhere) delta_other[place] += delta[i];
    });
}

__global__ void __launch_bounds__(block_threads)
    softmax_kernel(float* __restrict__ scores, const std::uint8_t* __restrict__ labels, int samples,
                   int classes, double* __restrict__ loss_of_sample) {
    const auto step = static_cast<int>(gridDim.x * block_threads);
    for (auto sample = static_cast<int>(blockIdx.x * block_threads + threadIdx.x); sample < samples;
         sample += step) {
        float* score =
            scores + static_cast<std::size_t>(sample) * static_cast<std::size_t>(classes);
        const int label = labels[sample];
        int best = 0;
        for (int k = 1; k < classes; ++k) {
            if (score[k] > score[best]) best = k;
        }
        const float highest = score[best];
        double sum = 0;
        for (int k = 0; k < classes; ++k) sum += exp(static_cast<double>(score[k] - highest));
        loss_of_sample[2 * sample] = log(sum) - static_cast<double>(score[label] - highest);
        loss_of_sample[2 * sample + 1] = best == label ? 1 : 0;
        for (int k = 0; k < classes; ++k) {
            const double share = exp(static_cast<double>(score[k] - highest)) / sum;
            score[k] = static_cast<float>(share - (k == label ? 1 : 0));
        }
    }
}
__global__ void __launch_bounds__(block_threads)
    add_losses_kernel(const double* __restrict__ loss_of_sample, int samples,
                      double* __restrict__ result) {
    const auto count = static_cast<std::size_t>(samples);
    const double sum = sum_by_block(loss_of_sample + 2 * blockIdx.y * count + blockIdx.x, count, 2);
    if (threadIdx.x == 0) result[2 * blockIdx.y + blockIdx.x] += sum;
}

__global__ void __launch_bounds__(block_threads)
    divide_kernel(float* __restrict__ values, std::size_t count, float divisor) {
    for_elements(count, [&](std::size_t i) { values[i] /= divisor; });
}

}  // namespace

cudaError_t launch_rectify(const float* in, float* out, std::size_t count, cudaStream_t stream) {
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) rectify_kernel<<<blocks, block_threads, 0, stream>>>(in, out, count);
    return cudaGetLastError();
}
cudaError_t launch_rectify_back(const float* in, const float* delta, float* delta_in,
                                std::size_t count, cudaStream_t stream) {
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) {
        rectify_back_kernel<<<blocks, block_threads, 0, stream>>>(in, delta, delta_in, count);
    }
    return cudaGetLastError();
}

cudaError_t launch_max_pool(const LayerShape& shape, const float* in, float* out,
                            cudaStream_t stream) {
    const std::size_t count = outputs_of(shape);
    if (count > places_max) return cudaErrorInvalidValue;
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) max_pool_kernel<<<blocks, block_threads, 0, stream>>>(shape, in, out, count);
    return cudaGetLastError();
}
cudaError_t launch_max_pool_back(const LayerShape& shape, const float* in, const float* delta,
                                 float* delta_in, cudaStream_t stream) {
    const std::size_t count = outputs_of(shape);
    if (count > places_max) return cudaErrorInvalidValue;
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) {
        max_pool_back_kernel<<<blocks, block_threads, 0, stream>>>(shape, in, delta, delta_in,
                                                                   count);
    }
    return cudaGetLastError();
}

cudaError_t launch_average_pool(const LayerShape& shape, const float* in, float* out,
                                cudaStream_t stream) {
    const std::size_t count = outputs_of(shape);
    const unsigned blocks = blocks_for(count, 4);
    const std::size_t plane = plane_of(shape.in);
    if (count > 0) average_pool_kernel<<<blocks, block_threads, 0, stream>>>(plane, in, out, count);
    return cudaGetLastError();
}
cudaError_t launch_average_pool_back(const LayerShape& shape, const float* delta, float* delta_in,
                                     cudaStream_t stream) {
    const std::size_t plane = plane_of(shape.in);
    const std::size_t count = outputs_of(shape) * plane;
    if (count > places_max) return cudaErrorInvalidValue;
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) {
        average_pool_back_kernel<<<blocks, block_threads, 0, stream>>>(static_cast<unsigned>(plane),
                                                                       delta, delta_in, count);
    }
    return cudaGetLastError();
}

cudaError_t launch_add(const LayerShape& shape, const PlaneShape& there, const float* in,
                       const float* other, float* out, cudaStream_t stream) {
    const std::size_t count = outputs_of(shape);
    if (count > places_max) return cudaErrorInvalidValue;
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) {
        add_kernel<<<blocks, block_threads, 0, stream>>>(shape, there, in, other, out, count);
    }
    return cudaGetLastError();
}
cudaError_t launch_add_back(const LayerShape& shape, const PlaneShape& there, const float* delta,
                            float* delta_in, float* delta_other, cudaStream_t stream) {
    const std::size_t count = outputs_of(shape);
    if (count > places_max) return cudaErrorInvalidValue;
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) {
        add_back_kernel<<<blocks, block_threads, 0, stream>>>(shape, there, delta, delta_in,
                                                              delta_other, count);
    }
    return cudaGetLastError();
}

cudaError_t launch_softmax_loss(float* scores, const std::uint8_t* labels, int samples, int classes,
                                int replicas, double* loss_of_sample, double* result,
                                cudaStream_t stream) {
    if (samples == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(static_cast<std::size_t>(samples), 1);
    softmax_kernel<<<blocks, block_threads, 0, stream>>>(scores, labels, samples, classes,
                                                         loss_of_sample);
    const dim3 sums(2, static_cast<unsigned>(replicas));
    add_losses_kernel<<<sums, block_threads, 0, stream>>>(loss_of_sample, samples / replicas,
                                                          result);
    return cudaGetLastError();
}

cudaError_t launch_divide(float* values, std::size_t count, float divisor, cudaStream_t stream) {
    const unsigned blocks = blocks_for(count, 4);
    if (count > 0) divide_kernel<<<blocks, block_threads, 0, stream>>>(values, count, divisor);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
