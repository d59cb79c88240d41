// image_layers.hpp — each kind of layer of an ImageNetwork, forward and backward: the meaning of
// the CUDA kernels. For sources only; `count` samples, sums in one order. Backward functions add to
// `gradient` and to the derivative by their input.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/models/image_network.hpp"

namespace ukemi::kernels::image {

template <class Scalar>
using Rows = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using Map = Eigen::Map<Rows<Scalar>>;
template <class Scalar>
using ConstMap = Eigen::Map<const Rows<Scalar>>;

inline constexpr double smallest_variance = 1e-5;

// Calls with (row of the unfolded image, its column, place in the image) for every pixel that is
// not padding.
template <class With>
void for_unfolded(const ImageLayer& layer, With with) {
    const ImageShape& in = layer.in;
    for (std::int32_t channel = 0; channel < in.channels; ++channel) {
        for (std::int32_t tap = 0; tap < layer.kernel * layer.kernel; ++tap) {
            const std::int64_t row = std::int64_t{channel} * layer.kernel * layer.kernel + tap;
            for (std::int32_t y = 0; y < layer.out.height; ++y) {
                const std::int32_t from_y = y * layer.stride + tap / layer.kernel - layer.padding;
                if (from_y < 0 || from_y >= in.height) continue;
                for (std::int32_t x = 0; x < layer.out.width; ++x) {
                    const std::int32_t from_x =
                        x * layer.stride + tap % layer.kernel - layer.padding;
                    if (from_x < 0 || from_x >= in.width) continue;
                    with(row, std::int64_t{y} * layer.out.width + x,
                         channel * in.plane() + std::int64_t{from_y} * in.width + from_x);
                }
            }
        }
    }
}

template <class Scalar>
void unfold(const ImageLayer& layer, const Scalar* image, std::vector<Scalar>& unfolded) {
    const std::int64_t columns = layer.out.plane();
    std::ranges::fill(unfolded, Scalar{0});
    for_unfolded(layer, [&](std::int64_t row, std::int64_t column, std::int64_t place) {
        unfolded[static_cast<std::size_t>(row * columns + column)] = image[place];
    });
}

template <class Scalar>
std::size_t unfolded_size(const ImageLayer& layer) {
    return static_cast<std::size_t>(std::int64_t{layer.in.channels} * layer.kernel * layer.kernel *
                                    layer.out.plane());
}

template <class Scalar>
void convolve(const ImageLayer& layer, std::int64_t count, const Scalar* weights, const Scalar* in,
              Scalar* out, std::vector<Scalar>& unfolded) {
    unfolded.resize(unfolded_size<Scalar>(layer));
    const auto inputs = static_cast<Eigen::Index>(layer.weight_count) / layer.out.channels;
    const auto plane = static_cast<Eigen::Index>(layer.out.plane());
    const ConstMap<Scalar> weight(weights + layer.weight, layer.out.channels, inputs);
    for (std::int64_t sample = 0; sample < count; ++sample) {
        unfold(layer, in + sample * layer.in.size(), unfolded);
        const ConstMap<Scalar> image(unfolded.data(), inputs, plane);
        Map<Scalar> result(out + sample * layer.out.size(), layer.out.channels, plane);
        result.noalias() = weight * image;
        if (layer.bias_count == 0) continue;
        for (Eigen::Index channel = 0; channel < result.rows(); ++channel) {
            const Scalar bias = weights[layer.bias + static_cast<std::size_t>(channel)];
            for (Eigen::Index i = 0; i < plane; ++i) result(channel, i) += bias;
        }
    }
}

template <class Scalar>
void convolve_back(const ImageLayer& layer, std::int64_t count, const Scalar* weights,
                   const Scalar* in, const Scalar* delta, Scalar* gradient, Scalar* delta_in,
                   std::vector<Scalar>& unfolded, std::vector<Scalar>& unfolded_delta) {
    unfolded.resize(unfolded_size<Scalar>(layer));
    unfolded_delta.resize(unfolded.size());
    const auto inputs = static_cast<Eigen::Index>(layer.weight_count) / layer.out.channels;
    const auto plane = static_cast<Eigen::Index>(layer.out.plane());
    const ConstMap<Scalar> weight(weights + layer.weight, layer.out.channels, inputs);
    Map<Scalar> weight_gradient(gradient + layer.weight, layer.out.channels, inputs);
    for (std::int64_t sample = 0; sample < count; ++sample) {
        unfold(layer, in + sample * layer.in.size(), unfolded);
        const ConstMap<Scalar> image(unfolded.data(), inputs, plane);
        const ConstMap<Scalar> own(delta + sample * layer.out.size(), layer.out.channels, plane);
        weight_gradient.noalias() += own * image.transpose();
        for (std::size_t channel = 0; channel < layer.bias_count; ++channel) {
            for (Eigen::Index i = 0; i < plane; ++i) {
                gradient[layer.bias + channel] += own(static_cast<Eigen::Index>(channel), i);
            }
        }
        if (delta_in == nullptr) continue;  // nobody asks how pixels should have been
        Map<Scalar> image_delta(unfolded_delta.data(), inputs, plane);
        image_delta.noalias() = weight.transpose() * own;
        Scalar* below = delta_in + sample * layer.in.size();
        for_unfolded(layer, [&](std::int64_t row, std::int64_t column, std::int64_t place) {
            below[place] += image_delta(row, column);
        });
    }
}

template <class Scalar>
void normalise(const ImageLayer& layer, std::int64_t count, const Scalar* weights, const Scalar* in,
               Scalar* out, std::vector<Scalar>& statistics) {
    const std::int64_t plane = layer.in.plane();
    const auto values = static_cast<double>(count * plane);
    statistics.resize(2 * layer.weight_count);
    for (std::size_t channel = 0; channel < layer.weight_count; ++channel) {
        const auto each = [&](auto with) {
            for (std::int64_t sample = 0; sample < count; ++sample) {
                const std::int64_t at =
                    sample * layer.in.size() + static_cast<std::int64_t>(channel) * plane;
                for (std::int64_t i = at; i < at + plane; ++i) with(i);
            }
        };
        double sum = 0;
        each([&](std::int64_t i) { sum += static_cast<double>(in[i]); });
        const double mean = sum / values;
        double squares = 0;
        each([&](std::int64_t i) {
            const double off = static_cast<double>(in[i]) - mean;
            squares += off * off;
        });
        const auto centre = static_cast<Scalar>(mean);
        const auto inverse =
            static_cast<Scalar>(1 / std::sqrt(squares / values + smallest_variance));
        statistics[2 * channel] = centre;
        statistics[2 * channel + 1] = inverse;
        const Scalar scale = weights[layer.weight + channel];
        const Scalar shift = weights[layer.bias + channel];
        each([&](std::int64_t i) { out[i] = scale * ((in[i] - centre) * inverse) + shift; });
    }
}

// With x̂ = (x − mean) ÷ deviation: ∂x = scale ÷ deviation · (∂y − mean(∂y) − x̂ mean(∂y x̂)).
template <class Scalar>
void normalise_back(const ImageLayer& layer, std::int64_t count, const Scalar* weights,
                    const Scalar* in, const Scalar* delta, Scalar* gradient, Scalar* delta_in,
                    const std::vector<Scalar>& statistics) {
    const std::int64_t plane = layer.in.plane();
    const auto values = static_cast<double>(count * plane);
    for (std::size_t channel = 0; channel < layer.weight_count; ++channel) {
        const auto each = [&](auto with) {
            for (std::int64_t sample = 0; sample < count; ++sample) {
                const std::int64_t at =
                    sample * layer.in.size() + static_cast<std::int64_t>(channel) * plane;
                for (std::int64_t i = at; i < at + plane; ++i) with(i);
            }
        };
        const Scalar centre = statistics[2 * channel];
        const Scalar inverse = statistics[2 * channel + 1];
        double sum = 0;
        double with_input = 0;
        each([&](std::int64_t i) {
            sum += static_cast<double>(delta[i]);
            with_input += static_cast<double>(delta[i] * ((in[i] - centre) * inverse));
        });
        gradient[layer.weight + channel] += static_cast<Scalar>(with_input);
        gradient[layer.bias + channel] += static_cast<Scalar>(sum);
        const auto mean = static_cast<Scalar>(sum / values);
        const auto mean_with_input = static_cast<Scalar>(with_input / values);
        const Scalar scale = weights[layer.weight + channel] * inverse;
        each([&](std::int64_t i) {
            const Scalar normal = (in[i] - centre) * inverse;
            delta_in[i] += scale * (delta[i] - mean - normal * mean_with_input);
        });
    }
}

// Of the four pixels under one, the first that is largest.
template <class Scalar>
std::int64_t largest_of(const ImageLayer& layer, const Scalar* plane, std::int32_t y,
                        std::int32_t x) {
    std::int64_t best = std::int64_t{2 * y} * layer.in.width + 2 * x;
    const std::int64_t first = best;
    for (const std::int64_t other :
         {first + 1, first + layer.in.width, first + layer.in.width + 1}) {
        if (plane[other] > plane[best]) best = other;
    }
    return best;
}

template <class With>
void for_pixels(const ImageLayer& layer, std::int64_t count, With with) {
    const std::int64_t planes = count * layer.out.channels;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
        for (std::int32_t y = 0; y < layer.out.height; ++y) {
            for (std::int32_t x = 0; x < layer.out.width; ++x) {
                with(plane, y, x,
                     plane * layer.out.plane() + std::int64_t{y} * layer.out.width + x);
            }
        }
    }
}

// Where the shortcut of `add` has the pixel for this one; −1 in the channels that it lacks.
inline std::int64_t shortcut_place(const ImageLayer& layer, const ImageShape& there,
                                   std::int64_t plane, std::int32_t y, std::int32_t x) {
    const std::int64_t sample = plane / layer.out.channels;
    const std::int64_t channel = plane % layer.out.channels;
    if (channel >= there.channels) return -1;
    return sample * there.size() + channel * there.plane() +
           std::int64_t{y * layer.stride} * there.width + std::int64_t{x} * layer.stride;
}

template <class Scalar>
void pool(const ImageLayer& layer, std::int64_t count, const Scalar* in, Scalar* out) {
    for_pixels(layer, count, [&](std::int64_t p, std::int32_t y, std::int32_t x, std::int64_t i) {
        const Scalar* plane = in + p * layer.in.plane();
        out[i] = plane[largest_of(layer, plane, y, x)];
    });
}
template <class Scalar>
void pool_back(const ImageLayer& layer, std::int64_t count, const Scalar* in, const Scalar* delta,
               Scalar* delta_in) {
    for_pixels(layer, count, [&](std::int64_t p, std::int32_t y, std::int32_t x, std::int64_t i) {
        const std::int64_t begin = p * layer.in.plane();
        delta_in[begin + largest_of(layer, in + begin, y, x)] += delta[i];
    });
}

template <class Scalar>
void average(const ImageLayer& layer, std::int64_t count, const Scalar* in, Scalar* out) {
    const std::int64_t plane = layer.in.plane();
    for (std::int64_t i = 0; i < count * layer.out.channels; ++i) {
        Scalar sum = 0;
        for (std::int64_t k = 0; k < plane; ++k) sum += in[i * plane + k];
        out[i] = sum / static_cast<Scalar>(plane);
    }
}
template <class Scalar>
void average_back(const ImageLayer& layer, std::int64_t count, const Scalar* delta,
                  Scalar* delta_in) {
    const std::int64_t plane = layer.in.plane();
    for (std::int64_t i = 0; i < count * layer.out.channels; ++i) {
        const Scalar share = delta[i] / static_cast<Scalar>(plane);
        for (std::int64_t k = 0; k < plane; ++k) delta_in[i * plane + k] += share;
    }
}

template <class Scalar>
void dense(const ImageLayer& layer, std::int64_t count, const Scalar* weights, const Scalar* in,
           Scalar* out) {
    const ConstMap<Scalar> weight(weights + layer.weight, layer.out.channels, layer.in.size());
    const ConstMap<Scalar> inputs(in, count, layer.in.size());
    Map<Scalar> outputs(out, count, layer.out.channels);
    outputs.noalias() = inputs * weight.transpose();
    for (Eigen::Index row = 0; row < outputs.rows(); ++row) {
        for (Eigen::Index k = 0; k < outputs.cols(); ++k) {
            outputs(row, k) += weights[layer.bias + static_cast<std::size_t>(k)];
        }
    }
}
template <class Scalar>
void dense_back(const ImageLayer& layer, std::int64_t count, const Scalar* weights,
                const Scalar* in, const Scalar* delta, Scalar* gradient, Scalar* delta_in) {
    const ConstMap<Scalar> weight(weights + layer.weight, layer.out.channels, layer.in.size());
    const ConstMap<Scalar> inputs(in, count, layer.in.size());
    const ConstMap<Scalar> own(delta, count, layer.out.channels);
    Map<Scalar>(gradient + layer.weight, layer.out.channels, layer.in.size()).noalias() +=
        own.transpose() * inputs;
    for (Eigen::Index row = 0; row < own.rows(); ++row) {
        for (Eigen::Index k = 0; k < own.cols(); ++k) {
            gradient[layer.bias + static_cast<std::size_t>(k)] += own(row, k);
        }
    }
    Map<Scalar>(delta_in, count, layer.in.size()).noalias() += own * weight;
}

template <class Scalar>
void add(const ImageLayer& layer, const ImageShape& there, std::int64_t count, const Scalar* in,
         const Scalar* other, Scalar* out) {
    for_pixels(layer, count, [&](std::int64_t p, std::int32_t y, std::int32_t x, std::int64_t i) {
        const std::int64_t place = shortcut_place(layer, there, p, y, x);
        out[i] = in[i] + (place < 0 ? Scalar{0} : other[place]);
    });
}
template <class Scalar>
void add_back(const ImageLayer& layer, const ImageShape& there, std::int64_t count,
              const Scalar* delta, Scalar* delta_in, Scalar* delta_other) {
    for_pixels(layer, count, [&](std::int64_t p, std::int32_t y, std::int32_t x, std::int64_t i) {
        delta_in[i] += delta[i];
        const std::int64_t place = shortcut_place(layer, there, p, y, x);
        if (place >= 0) delta_other[place] += delta[i];
    });
}

}  // namespace ukemi::kernels::image
