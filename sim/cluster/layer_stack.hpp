// layer_stack.hpp — counts what the layers of an image network need, one after another.
//
// Keeps the shape of what flows (channels, height, width). A branch is a copy of the Shape: set()
// goes back to it. Convolutions and batch normalisations keep their outputs for the backward pass;
// activations work in place; poolings keep their outputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

class LayerStack {
public:
    struct Shape {
        std::int64_t channels = 0;
        std::int64_t height = 0;
        std::int64_t width = 0;
        std::int64_t values() const { return channels * height * width; }
    };
    struct Window {  // of a convolution or a pooling
        std::int64_t height = 1;
        std::int64_t width = 1;
        std::int64_t stride = 1;
        std::int64_t pad_height = 0;
        std::int64_t pad_width = 0;
    };
    static Window square(std::int64_t side, std::int64_t stride, std::int64_t pad) {
        return {side, side, stride, pad, pad};
    }

    LayerStack(std::string name, std::string sample, Shape input);

    const Shape& shape() const { return shape_; }
    void set(const Shape& shape) { shape_ = shape; }

    void convolution(std::string_view name, std::int64_t channels, const Window& window, bool bias);
    void batch_norm(std::string_view name);  // a scale and a shift a channel
    void pool(const Window& window);         // rounds down
    void global_pool() { pool({shape_.height, shape_.width, 1, 0, 0}); }
    void dense(std::string_view name, std::int64_t outputs, bool bias = true);

    ModelProfile finished() { return std::move(profile_); }

private:
    LayerCost& add_layer(std::string_view name);
    void add_tensor(std::string_view layer, std::string_view kind, std::int64_t elements,
                    std::int64_t rows = 0);
    void reach(const Shape& next);  // the layer's output is kept

    ModelProfile profile_;
    Shape shape_;
};

}  // namespace ukemi::sim
