// image_planes.cu — unfolding, biases and normalisation.
#include <algorithm>

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
// What one launch counts with: 32 bits, because a division of 64 takes a GPU as long as reading
// the number that it is about. More is refused.
constexpr std::size_t points_max = 0xFFFF'FFFFU - std::size_t{blocks_max} * block_threads;

// Calls `with(i)` for all i below count, neighbours by neighbours.
template <class With>
__device__ void for_points(unsigned count, const With& with) {
    const unsigned step = gridDim.x * block_threads;
    for (unsigned i = blockIdx.x * block_threads + threadIdx.x; i < count; i += step) with(i);
}

// A thread takes a pixel of the output and copies what all taps see of it. `side` is the kernel's
// own, where it is one of the usual; 0: it is the shape's.
template <int side>
__global__ void __launch_bounds__(block_threads)
    unfold_kernel(LayerShape shape, const float* __restrict__ in, float* __restrict__ unfolded,
                  unsigned points) {
    const auto plane = static_cast<unsigned>(plane_of(shape.out));
    const auto width = static_cast<unsigned>(shape.out.width);
    const int kernel = side > 0 ? side : shape.kernel;
    const auto taps = static_cast<unsigned>(kernel * kernel);
    for_points(points, [&](unsigned i) {
        const unsigned image = i / plane;  // sample and channel
        const unsigned pixel = i % plane;
        const int top = static_cast<int>(pixel / width) * shape.stride - shape.padding;
        const int left = static_cast<int>(pixel % width) * shape.stride - shape.padding;
        const float* from = in + image * plane_of(shape.in);
        float* to = unfolded + std::size_t{image} * taps * plane + pixel;
#pragma unroll
        for (int tap_y = 0; tap_y < kernel; ++tap_y) {
            const int y = top + tap_y;
#pragma unroll
            for (int tap_x = 0; tap_x < kernel; ++tap_x) {
                const int x = left + tap_x;
                const bool inside = y >= 0 && y < shape.in.height && x >= 0 && x < shape.in.width;
                *to = inside ? from[y * shape.in.width + x] : 0.0F;
                to += plane;
            }
        }
    });
}

// `step` is the stride where it is 1; 0: it is the shape's.
template <int side, int step>
__global__ void __launch_bounds__(block_threads)
    fold_kernel(LayerShape shape, const float* __restrict__ unfolded_delta,
                float* __restrict__ delta_in, unsigned points) {
    const std::size_t plane = plane_of(shape.out);
    const auto plane_in = static_cast<unsigned>(plane_of(shape.in));
    const auto width = static_cast<unsigned>(shape.in.width);
    const int kernel = side > 0 ? side : shape.kernel;
    const int stride = step > 0 ? step : shape.stride;
    for_points(points, [&](unsigned i) {
        const unsigned image = i / plane_in;  // sample and channel
        const unsigned pixel = i % plane_in;
        const int bottom = static_cast<int>(pixel / width) + shape.padding;
        const int right = static_cast<int>(pixel % width) + shape.padding;
        const float* from =
            unfolded_delta + image * static_cast<std::size_t>(kernel * kernel) * plane;
        float sum = 0;
#pragma unroll
        for (int tap_y = 0; tap_y < kernel; ++tap_y) {
#pragma unroll
            for (int tap_x = 0; tap_x < kernel; ++tap_x) {
                const int y = (bottom - tap_y) / stride;
                const int x = (right - tap_x) / stride;
                const bool made_one = bottom >= tap_y && right >= tap_x &&
                                      y * stride == bottom - tap_y && x * stride == right - tap_x &&
                                      y < shape.out.height && x < shape.out.width;
                if (made_one) sum += from[y * shape.out.width + x];
                from += plane;
            }
        }
        delta_in[i] += sum;
    });
}

__global__ void __launch_bounds__(block_threads)
    bias_kernel(LayerShape shape, const float* __restrict__ bias, float* __restrict__ out,
                unsigned count) {
    const auto plane = static_cast<unsigned>(plane_of(shape.out));
    const auto channels = static_cast<unsigned>(shape.out.channels);
    const unsigned of_replica = count / static_cast<unsigned>(shape.replicas);
    for_points(count, [&](unsigned i) {
        out[i] += bias[i / of_replica * shape.parameters + i / plane % channels];
    });
}

// The values of a channel of one replica are counted sample after sample. Calls with(place) for
// those from `begin` to `end`, by the threads of a block.
template <unsigned threads, class With>
__device__ void for_channel(const LayerShape& shape, unsigned begin, unsigned end,
                            const With& with) {
    const auto plane = static_cast<unsigned>(plane_of(shape.out));
    const auto first = blockIdx.y * static_cast<unsigned>(shape.samples_each());
    const std::size_t channel = std::size_t{blockIdx.x} * plane;
#pragma unroll 4
    for (unsigned i = begin + threadIdx.x; i < end; i += threads) {
        with((first + i / plane) * size_of(shape.out) + channel + i % plane);
    }
}
unsigned values_of_channel(const LayerShape& shape) {
    return static_cast<unsigned>(shape.samples_each()) * static_cast<unsigned>(plane_of(shape.out));
}
bool is_countable(std::size_t planes, const PlaneShape& shape) {
    return planes * plane_of(shape) <= points_max;
}

constexpr unsigned many_threads = 1024;
template <unsigned threads>
__global__ void __launch_bounds__(threads)
    bias_gradient_kernel(LayerShape shape, unsigned values, const float* __restrict__ delta,
                         float* __restrict__ gradient) {
    double sum = 0;
    for_channel<threads>(shape, 0, values,
                         [&](std::size_t i) { sum += static_cast<double>(delta[i]); });
    sum = block_sum<threads>(sum);
    if (threadIdx.x == 0) {
        gradient[blockIdx.y * shape.parameters + blockIdx.x] += static_cast<float>(sum);
    }
}

// A block takes 32 weights of a replica; eight threads a weight take every eighth sample each, and
// their sums are added up in their order.
constexpr unsigned weights_together = 32;
constexpr unsigned sample_threads = block_threads / weights_together;
__global__ void __launch_bounds__(block_threads)
    sum_samples_kernel(LayerShape shape, const float* __restrict__ partial, std::size_t count,
                       float* __restrict__ gradient) {
    __shared__ float sums[sample_threads][weights_together];
    const auto samples = static_cast<unsigned>(shape.samples_each());
    const unsigned weight = threadIdx.x % weights_together;
    const unsigned lane = threadIdx.x / weights_together;
    const std::size_t place = std::size_t{blockIdx.x} * weights_together + weight;
    const float* own = partial + std::size_t{blockIdx.y} * samples * count + place;
    float sum = 0;
    if (place < count) {
#pragma unroll 4
        for (unsigned sample = lane; sample < samples; sample += sample_threads) {
            sum += own[sample * count];
        }
    }
    sums[lane][weight] = sum;
    __syncthreads();
    if (lane > 0 || place >= count) return;
    for (unsigned other = 1; other < sample_threads; ++other) sum += sums[other][weight];
    gradient[blockIdx.y * shape.parameters + place] += sum;
}

// Sums over a channel of one replica are made in parts, a block each: one block alone would keep
// all others waiting. Two sums a part, channel after channel, replica after replica.
__device__ double* sums_of_channel(double* sums, unsigned parts) {
    return sums + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * parts * 2;
}
// The first and the second sum over all parts, in every thread.
struct ChannelSums {
    double first = 0;
    double second = 0;
};
__device__ ChannelSums added_parts(const double* sums, unsigned parts) {
    ChannelSums all;
#pragma unroll 8
    for (unsigned part = 0; part < parts; ++part) {
        all.first += sums[2 * part];
        all.second += sums[2 * part + 1];
    }
    return all;
}
struct PartOfChannel {
    unsigned begin = 0;
    unsigned end = 0;
};
__device__ PartOfChannel part_of_channel(unsigned values) {
    const unsigned each = (values + gridDim.z - 1) / gridDim.z;
    const unsigned begin = blockIdx.z * each < values ? blockIdx.z * each : values;
    return {begin, values - begin < each ? values : begin + each};
}
__device__ void keep_sums(double first, double second, double* sums) {
    first = block_sum(first);
    second = block_sum(second);
    if (threadIdx.x > 0) return;
    double* of_part = sums_of_channel(sums, gridDim.z) + std::size_t{2} * blockIdx.z;
    of_part[0] = first;
    of_part[1] = second;
}

// Σ x and Σ x², in double: what is lost in their difference is far below a float's own rounding.
__global__ void __launch_bounds__(block_threads)
    moments_kernel(LayerShape shape, unsigned values, const float* __restrict__ in,
                   double* __restrict__ sums) {
    const PartOfChannel part = part_of_channel(values);
    double sum = 0;
    double squares = 0;
    for_channel<block_threads>(shape, part.begin, part.end, [&](std::size_t i) {
        const auto value = static_cast<double>(in[i]);
        sum += value;
        squares += value * value;
    });
    keep_sums(sum, squares, sums);
}

__global__ void __launch_bounds__(block_threads)
    normalise_kernel(LayerShape shape, unsigned values, const float* __restrict__ scale,
                     const float* __restrict__ shift, const float* __restrict__ in,
                     float* __restrict__ out, float* __restrict__ statistics,
                     double* __restrict__ sums) {
    constexpr double smallest_variance = 1e-5;
    const std::size_t channel = blockIdx.x;
    const std::size_t weight = blockIdx.y * shape.parameters + channel;
    statistics += 2 * blockIdx.y * static_cast<std::size_t>(shape.out.channels);
    const ChannelSums all = added_parts(sums_of_channel(sums, gridDim.z), gridDim.z);
    const double mean = all.first / values;
    const double variance = fmax(all.second / values - mean * mean, 0.0);
    const auto centre = static_cast<float>(mean);
    const auto inverse = static_cast<float>(1 / sqrt(variance + smallest_variance));
    if (blockIdx.z == 0 && threadIdx.x == 0) {
        statistics[2 * channel] = centre;
        statistics[2 * channel + 1] = inverse;
    }
    const float factor = scale[weight];
    const float added = shift[weight];
    const PartOfChannel part = part_of_channel(values);
    for_channel<block_threads>(shape, part.begin, part.end, [&](std::size_t i) {
        out[i] = factor * ((in[i] - centre) * inverse) + added;
    });
}

__global__ void __launch_bounds__(block_threads)
    normalise_sums_kernel(LayerShape shape, unsigned values, const float* __restrict__ in,
                          const float* __restrict__ delta, const float* __restrict__ statistics,
                          double* __restrict__ sums) {
    statistics += 2 * blockIdx.y * static_cast<std::size_t>(shape.out.channels);
    const float centre = statistics[2 * blockIdx.x];
    const float inverse = statistics[2 * blockIdx.x + 1];
    const PartOfChannel part = part_of_channel(values);
    double sum = 0;
    double with_input = 0;
    for_channel<block_threads>(shape, part.begin, part.end, [&](std::size_t i) {
        sum += static_cast<double>(delta[i]);
        with_input += static_cast<double>(delta[i] * ((in[i] - centre) * inverse));
    });
    keep_sums(sum, with_input, sums);
}

__global__ void __launch_bounds__(block_threads)
    normalise_back_kernel(LayerShape shape, unsigned values, const float* __restrict__ scale,
                          const float* __restrict__ in, const float* __restrict__ delta,
                          const float* __restrict__ statistics, float* __restrict__ scale_gradient,
                          float* __restrict__ shift_gradient, float* __restrict__ delta_in,
                          double* __restrict__ sums) {
    const std::size_t channel = blockIdx.x;
    const std::size_t weight = blockIdx.y * shape.parameters + channel;
    statistics += 2 * blockIdx.y * static_cast<std::size_t>(shape.out.channels);
    const float centre = statistics[2 * channel];
    const float inverse = statistics[2 * channel + 1];
    const ChannelSums all = added_parts(sums_of_channel(sums, gridDim.z), gridDim.z);
    if (blockIdx.z == 0 && threadIdx.x == 0) {
        scale_gradient[weight] += static_cast<float>(all.second);
        shift_gradient[weight] += static_cast<float>(all.first);
    }
    const auto mean = static_cast<float>(all.first / values);
    const auto mean_with_input = static_cast<float>(all.second / values);
    const float factor = scale[weight] * inverse;
    const PartOfChannel part = part_of_channel(values);
    for_channel<block_threads>(shape, part.begin, part.end, [&](std::size_t i) {
        const float normal = (in[i] - centre) * inverse;
        delta_in[i] += factor * (delta[i] - mean - normal * mean_with_input);
    });
}

// Parts of a channel: each long enough to be worth a block, no more than blocks are wanted.
constexpr unsigned parts_most = 32;
dim3 blocks_of_parts(const LayerShape& shape) {
    constexpr unsigned values_each = 2048;
    const unsigned parts = (values_of_channel(shape) + values_each - 1) / values_each;
    return {static_cast<unsigned>(shape.out.channels), static_cast<unsigned>(shape.replicas),
            std::clamp(parts, 1U, parts_most)};
}

}  // namespace

cudaError_t launch_unfold(const LayerShape& shape, const float* in, float* unfolded,
                          cudaStream_t stream) {
    const std::size_t planes =
        static_cast<std::size_t>(shape.samples) * static_cast<std::size_t>(shape.in.channels);
    if (!is_countable(planes, shape.out)) return cudaErrorInvalidValue;
    const auto points = static_cast<unsigned>(planes * plane_of(shape.out));
    if (points == 0) return cudaSuccess;
    const auto kernel = shape.kernel == 3   ? unfold_kernel<3>
                        : shape.kernel == 5 ? unfold_kernel<5>
                                            : unfold_kernel<0>;
    const unsigned blocks = blocks_for(points, 1);
    kernel<<<blocks, block_threads, 0, stream>>>(shape, in, unfolded, points);
    return cudaGetLastError();
}

cudaError_t launch_fold(const LayerShape& shape, const float* unfolded_delta, float* delta_in,
                        cudaStream_t stream) {
    const std::size_t planes =
        static_cast<std::size_t>(shape.samples) * static_cast<std::size_t>(shape.in.channels);
    if (!is_countable(planes, shape.in)) return cudaErrorInvalidValue;
    const auto points = static_cast<unsigned>(planes * plane_of(shape.in));
    if (points == 0) return cudaSuccess;
    const bool dense = shape.stride == 1;
    const auto kernel = shape.kernel == 3   ? (dense ? fold_kernel<3, 1> : fold_kernel<3, 0>)
                        : shape.kernel == 5 ? (dense ? fold_kernel<5, 1> : fold_kernel<5, 0>)
                                            : fold_kernel<0, 0>;
    const unsigned blocks = blocks_for(points, 1);
    kernel<<<blocks, block_threads, 0, stream>>>(shape, unfolded_delta, delta_in, points);
    return cudaGetLastError();
}

cudaError_t launch_bias(const LayerShape& shape, const float* bias, float* out,
                        cudaStream_t stream) {
    const std::size_t count = static_cast<std::size_t>(shape.samples) * size_of(shape.out);
    if (count > points_max) return cudaErrorInvalidValue;
    if (count == 0) return cudaSuccess;
    bias_kernel<<<blocks_for(count, 1), block_threads, 0, stream>>>(shape, bias, out,
                                                                    static_cast<unsigned>(count));
    return cudaGetLastError();
}

cudaError_t launch_bias_gradient(const LayerShape& shape, const float* delta, float* gradient,
                                 cudaStream_t stream) {
    const auto samples = static_cast<std::size_t>(shape.samples_each());
    if (!is_countable(samples, shape.out)) return cudaErrorInvalidValue;
    const unsigned values = values_of_channel(shape);
    const dim3 channels(static_cast<unsigned>(shape.out.channels),
                        static_cast<unsigned>(shape.replicas));
    if (values > 4 * block_threads) {
        bias_gradient_kernel<many_threads>
            <<<channels, many_threads, 0, stream>>>(shape, values, delta, gradient);
    } else {
        bias_gradient_kernel<block_threads>
            <<<channels, block_threads, 0, stream>>>(shape, values, delta, gradient);
    }
    return cudaGetLastError();
}

cudaError_t launch_sum_samples(const LayerShape& shape, const float* partial, std::size_t count,
                               float* gradient, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const dim3 blocks(static_cast<unsigned>((count + weights_together - 1) / weights_together),
                      static_cast<unsigned>(shape.replicas));
    sum_samples_kernel<<<blocks, block_threads, 0, stream>>>(shape, partial, count, gradient);
    return cudaGetLastError();
}

std::size_t normalise_workspace(int channels, int replicas) {
    return std::size_t{2} * parts_most * static_cast<std::size_t>(channels) *
           static_cast<std::size_t>(replicas);
}

cudaError_t launch_normalise(const LayerShape& shape, const float* scale, const float* shift,
                             const float* in, float* out, float* statistics, double* workspace,
                             cudaStream_t stream) {
    const auto samples = static_cast<std::size_t>(shape.samples_each());
    if (!is_countable(samples, shape.out)) return cudaErrorInvalidValue;
    const unsigned values = values_of_channel(shape);
    const dim3 blocks = blocks_of_parts(shape);
    moments_kernel<<<blocks, block_threads, 0, stream>>>(shape, values, in, workspace);
    const cudaError_t summed = cudaGetLastError();
    if (summed != cudaSuccess) return summed;
    normalise_kernel<<<blocks, block_threads, 0, stream>>>(shape, values, scale, shift, in, out,
                                                           statistics, workspace);
    return cudaGetLastError();
}

cudaError_t launch_normalise_back(const LayerShape& shape, const float* scale, const float* in,
                                  const float* delta, const float* statistics,
                                  float* scale_gradient, float* shift_gradient, float* delta_in,
                                  double* workspace, cudaStream_t stream) {
    const auto samples = static_cast<std::size_t>(shape.samples_each());
    if (!is_countable(samples, shape.out)) return cudaErrorInvalidValue;
    const unsigned values = values_of_channel(shape);
    const dim3 blocks = blocks_of_parts(shape);
    normalise_sums_kernel<<<blocks, block_threads, 0, stream>>>(shape, values, in, delta,
                                                                statistics, workspace);
    const cudaError_t summed = cudaGetLastError();
    if (summed != cudaSuccess) return summed;
    normalise_back_kernel<<<blocks, block_threads, 0, stream>>>(
        shape, values, scale, in, delta, statistics, scale_gradient, shift_gradient, delta_in,
        workspace);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
