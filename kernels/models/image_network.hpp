// image_network.hpp — convolutional networks for small images as lists of layers: what CPU and GPU
// both carry out.
//
// A node takes the output of an earlier one (and `add` that of a second). Activations are planes:
// sample after sample, channel after channel, row after row. Tensors are numbered in forward order.
// Batch normalisation uses the statistics of the samples that go through together, in training and
// in evaluation: running means would be state that no worker exchanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/model.hpp"
#include "kernels/setting_ranges.hpp"

namespace ukemi::kernels {

struct ImageShape {
    std::int32_t channels = 1;
    std::int32_t height = 1;
    std::int32_t width = 1;
    std::int64_t plane() const { return std::int64_t{height} * width; }
    std::int64_t size() const { return channels * plane(); }
    friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// Of so many features: one channel of a square image, or three (CIFAR). Nothing is square: 0.
ImageShape image_shape(std::int32_t features);

enum class LayerKind : std::uint8_t {
    input,
    convolution,    // kernel × kernel, with `padding` zeros around
    normalisation,  // over samples and plane, then scale and shift; ε = 1e-5
    rectifier,
    max_pool,      // 2 × 2, the first of equals
    average_pool,  // of a whole plane
    dense,
    add,  // the shortcut's every `stride`-th pixel, missing channels zero (He et al., option A)
};

struct ImageLayer {
    LayerKind kind = LayerKind::input;
    std::size_t from = 0;      // the node whose output it takes
    std::size_t shortcut = 0;  // of `add`: the other one
    ImageShape in;
    ImageShape out;
    std::int32_t kernel = 1;
    std::int32_t stride = 1;
    std::int32_t padding = 0;
    // Tensors: weight (outputs × inputs·kernel², or the scale), then the bias or shift if there is.
    std::size_t weight = 0;
    std::size_t weight_count = 0;
    std::size_t bias = 0;
    std::size_t bias_count = 0;  // 0: none
    bool by_columns = false;  // the weight of `dense` lies column after column (DenseNetwork's way)
    std::size_t first_tensor = 0;
    std::size_t tensor_count = 0;
};

struct ImageNetwork {
    std::string kind;
    std::vector<ImageLayer> layers;  // [0] is the input; the last gives class scores
    std::vector<TensorSlice> tensors;
    std::size_t parameter_count = 0;

    // Normal with a variance of 2 ÷ inputs before a rectifier (He et al., arXiv:1502.01852), 1 ÷
    // inputs for the scores; scales one, the rest zero. One random stream a tensor.
    std::vector<double> initial_weights(std::uint64_t seed) const;
};

// "cnn" (`filters` of 3 × 3, a rectifier, pooling and a dense layer), "lenet5" (Caffe's, after
// LeCun et al. 1998), "resnet20", "resnet32" (He et al., CVPR 2016, section 4.2). InputError for
// images that are too small for it or no images.
ImageNetwork image_network(std::string_view kind, std::int32_t features, std::int32_t classes,
                           std::int32_t filters = 8);
// The layers of any model of model_kinds(), with the tensors that make_model gives it; only `kind`
// and sizes are looked at, so the spec has been through make_model. For devices: on the CPU,
// softmax regression and perceptrons are DenseNetworks.
ImageNetwork network_of(const ModelSpec& spec, std::int32_t features, std::int32_t classes);

}  // namespace ukemi::kernels
