// image_planes.cu — unfolding, biases and normalisation.
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
std::size_t unfolded_of(const LayerShape& shape) {
    return static_cast<std::size_t>(shape.samples) * static_cast<std::size_t>(shape.in.channels) *
           static_cast<std::size_t>(shape.kernel * shape.kernel) * plane_of(shape.out);
}

__global__ void __launch_bounds__(block_threads)
    unfold_kernel(LayerShape shape, const float* __restrict__ in, float* __restrict__ unfolded,
                  std::size_t count) {
    const std::size_t plane = plane_of(shape.out);
    const auto taps = static_cast<std::size_t>(shape.kernel * shape.kernel);
    const auto channels = static_cast<std::size_t>(shape.in.channels);
    for_elements(count, [&](std::size_t i) {
        const std::size_t pixel = i % plane;
        const std::size_t row = i / plane % (channels * taps);
        const std::size_t sample = i / plane / (channels * taps);
        const int tap = static_cast<int>(row % taps);
        const int y = static_cast<int>(pixel) / shape.out.width * shape.stride +
                      tap / shape.kernel - shape.padding;
        const int x = static_cast<int>(pixel) % shape.out.width * shape.stride +
                      tap % shape.kernel - shape.padding;
        const bool inside = y >= 0 && y < shape.in.height && x >= 0 && x < shape.in.width;
        const std::size_t place =
            (sample * channels + row / taps) * plane_of(shape.in) +
            static_cast<std::size_t>(y) * static_cast<std::size_t>(shape.in.width) +
            static_cast<std::size_t>(x);
        unfolded[i] = inside ? in[place] : 0.0F;
    });
}

__global__ void __launch_bounds__(block_threads)
    fold_kernel(LayerShape shape, const float* __restrict__ unfolded_delta,
                float* __restrict__ delta_in, std::size_t count) {
    const std::size_t plane = plane_of(shape.out);
    const int taps = shape.kernel * shape.kernel;
    for_elements(count, [&](std::size_t i) {
        const std::size_t pixel = i % plane_of(shape.in);
        const std::size_t image = i / plane_of(shape.in);  // sample and channel
        const int y = static_cast<int>(pixel) / shape.in.width;
        const int x = static_cast<int>(pixel) % shape.in.width;
        float sum = 0;
        for (int tap = 0; tap < taps; ++tap) {
            const int from_y = y + shape.padding - tap / shape.kernel;
            const int from_x = x + shape.padding - tap % shape.kernel;
            if (from_y < 0 || from_x < 0 || from_y % shape.stride != 0 ||
                from_x % shape.stride != 0) {
                continue;
            }
            const int out_y = from_y / shape.stride;
            const int out_x = from_x / shape.stride;
            if (out_y >= shape.out.height || out_x >= shape.out.width) continue;
            const std::size_t row =
                image * static_cast<std::size_t>(taps) + static_cast<std::size_t>(tap);
            sum += unfolded_delta[row * plane +
                                  static_cast<std::size_t>(out_y) *
                                      static_cast<std::size_t>(shape.out.width) +
                                  static_cast<std::size_t>(out_x)];
        }
        delta_in[i] += sum;
    });
}

__global__ void __launch_bounds__(block_threads)
    bias_kernel(LayerShape shape, const float* __restrict__ bias, float* __restrict__ out,
                std::size_t count) {
    const std::size_t plane = plane_of(shape.out);
    const auto channels = static_cast<std::size_t>(shape.out.channels);
    const std::size_t of_replica = count / static_cast<std::size_t>(shape.replicas);
    for_elements(count, [&](std::size_t i) {
        out[i] += bias[i / of_replica * shape.parameters + i / plane % channels];
    });
}

// Calls with(place) for all values of a channel of one replica; a block each.
template <class With>
__device__ void for_channel(const LayerShape& shape, std::size_t channel, const With& with) {
    const std::size_t plane = plane_of(shape.out);
    const auto samples = static_cast<std::size_t>(shape.samples_each());
    const std::size_t first = blockIdx.y * samples;
    for (std::size_t i = threadIdx.x; i < samples * plane; i += block_threads) {
        with((first + i / plane) * size_of(shape.out) + channel * plane + i % plane);
    }
}
dim3 channel_blocks(const LayerShape& shape) {
    return {static_cast<unsigned>(shape.out.channels), static_cast<unsigned>(shape.replicas)};
}

__global__ void __launch_bounds__(block_threads)
    bias_gradient_kernel(LayerShape shape, const float* __restrict__ delta,
                         float* __restrict__ gradient) {
    double sum = 0;
    for_channel(shape, blockIdx.x, [&](std::size_t i) { sum += static_cast<double>(delta[i]); });
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        gradient[blockIdx.y * shape.parameters + blockIdx.x] += static_cast<float>(sum);
    }
}

__global__ void __launch_bounds__(block_threads)
    sum_samples_kernel(LayerShape shape, const float* __restrict__ partial, std::size_t count,
                       float* __restrict__ gradient) {
    const auto samples = static_cast<std::size_t>(shape.samples_each());
    for_elements(count * static_cast<std::size_t>(shape.replicas), [&](std::size_t i) {
        const std::size_t replica = i / count;
        float& into = gradient[replica * shape.parameters + i % count];
        float sum = into;
        for (std::size_t sample = replica * samples; sample < (replica + 1) * samples; ++sample) {
            sum += partial[sample * count + i % count];
        }
        into = sum;
    });
}

__global__ void __launch_bounds__(block_threads)
    normalise_kernel(LayerShape shape, const float* __restrict__ scale,
                     const float* __restrict__ shift, const float* __restrict__ in,
                     float* __restrict__ out, float* __restrict__ statistics) {
    constexpr double smallest_variance = 1e-5;
    const std::size_t channel = blockIdx.x;
    const double values =
        static_cast<double>(shape.samples_each()) * static_cast<double>(plane_of(shape.out));
    const std::size_t weight = blockIdx.y * shape.parameters + channel;
    statistics += 2 * blockIdx.y * static_cast<std::size_t>(shape.out.channels);
    double sum = 0;
    for_channel(shape, channel, [&](std::size_t i) { sum += static_cast<double>(in[i]); });
    const double mean = block_sum(sum) / values;
    double squares = 0;
    for_channel(shape, channel, [&](std::size_t i) {
        const double off = static_cast<double>(in[i]) - mean;
        squares += off * off;
    });
    squares = block_sum(squares);
    const auto centre = static_cast<float>(mean);
    const auto inverse = static_cast<float>(1 / sqrt(squares / values + smallest_variance));
    if (threadIdx.x == 0) {
        statistics[2 * channel] = centre;
        statistics[2 * channel + 1] = inverse;
    }
    const float factor = scale[weight];
    const float added = shift[weight];
    for_channel(shape, channel,
                [&](std::size_t i) { out[i] = factor * ((in[i] - centre) * inverse) + added; });
}

__global__ void __launch_bounds__(block_threads)
    normalise_back_kernel(LayerShape shape, const float* __restrict__ scale,
                          const float* __restrict__ in, const float* __restrict__ delta,
                          const float* __restrict__ statistics, float* __restrict__ scale_gradient,
                          float* __restrict__ shift_gradient, float* __restrict__ delta_in) {
    const std::size_t channel = blockIdx.x;
    const double values =
        static_cast<double>(shape.samples_each()) * static_cast<double>(plane_of(shape.out));
    const std::size_t weight = blockIdx.y * shape.parameters + channel;
    statistics += 2 * blockIdx.y * static_cast<std::size_t>(shape.out.channels);
    const float centre = statistics[2 * channel];
    const float inverse = statistics[2 * channel + 1];
    double sum = 0;
    double with_input = 0;
    for_channel(shape, channel, [&](std::size_t i) {
        sum += static_cast<double>(delta[i]);
        with_input += static_cast<double>(delta[i] * ((in[i] - centre) * inverse));
    });
    sum = block_sum(sum);
    with_input = block_sum(with_input);
    if (threadIdx.x == 0) {
        scale_gradient[weight] += static_cast<float>(with_input);
        shift_gradient[weight] += static_cast<float>(sum);
    }
    const auto mean = static_cast<float>(sum / values);
    const auto mean_with_input = static_cast<float>(with_input / values);
    const float factor = scale[weight] * inverse;
    for_channel(shape, channel, [&](std::size_t i) {
        const float normal = (in[i] - centre) * inverse;
        delta_in[i] += factor * (delta[i] - mean - normal * mean_with_input);
    });
}

}  // namespace

cudaError_t launch_unfold(const LayerShape& shape, const float* in, float* unfolded,
                          cudaStream_t stream) {
    const std::size_t count = unfolded_of(shape);
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    unfold_kernel<<<blocks, block_threads, 0, stream>>>(shape, in, unfolded, count);
    return cudaGetLastError();
}

cudaError_t launch_fold(const LayerShape& shape, const float* unfolded_delta, float* delta_in,
                        cudaStream_t stream) {
    const std::size_t count = static_cast<std::size_t>(shape.samples) * size_of(shape.in);
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    fold_kernel<<<blocks, block_threads, 0, stream>>>(shape, unfolded_delta, delta_in, count);
    return cudaGetLastError();
}

cudaError_t launch_bias(const LayerShape& shape, const float* bias, float* out,
                        cudaStream_t stream) {
    const std::size_t count = static_cast<std::size_t>(shape.samples) * size_of(shape.out);
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    bias_kernel<<<blocks, block_threads, 0, stream>>>(shape, bias, out, count);
    return cudaGetLastError();
}

cudaError_t launch_bias_gradient(const LayerShape& shape, const float* delta, float* gradient,
                                 cudaStream_t stream) {
    const dim3 channels = channel_blocks(shape);
    bias_gradient_kernel<<<channels, block_threads, 0, stream>>>(shape, delta, gradient);
    return cudaGetLastError();
}

cudaError_t launch_sum_samples(const LayerShape& shape, const float* partial, std::size_t count,
                               float* gradient, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count * static_cast<std::size_t>(shape.replicas), 4);
    sum_samples_kernel<<<blocks, block_threads, 0, stream>>>(shape, partial, count, gradient);
    return cudaGetLastError();
}

cudaError_t launch_normalise(const LayerShape& shape, const float* scale, const float* shift,
                             const float* in, float* out, float* statistics, cudaStream_t stream) {
    const dim3 channels = channel_blocks(shape);
    normalise_kernel<<<channels, block_threads, 0, stream>>>(shape, scale, shift, in, out,
                                                             statistics);
    return cudaGetLastError();
}

cudaError_t launch_normalise_back(const LayerShape& shape, const float* scale, const float* in,
                                  const float* delta, const float* statistics,
                                  float* scale_gradient, float* shift_gradient, float* delta_in,
                                  cudaStream_t stream) {
    const dim3 channels = channel_blocks(shape);
    normalise_back_kernel<<<channels, block_threads, 0, stream>>>(
        shape, scale, in, delta, statistics, scale_gradient, shift_gradient, delta_in);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
