// power_sgd_bytes_test.cpp — PowerSGD's bytes for two whole networks, as published.
#include <catch2/catch.hpp>
#include <vector>

#include "kernels/codec.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

using Shapes = std::vector<TensorShape>;

void add_convolution(Shapes& shapes, std::int64_t in, std::int64_t out, std::int64_t side) {
    shapes.push_back({out, in * side * side});
    shapes.push_back({out, 1});  // batch normalisation: scale and shift
    shapes.push_back({out, 1});
}

// For CIFAR-10: a 3×3 stem, two blocks of two convolutions a stage.
Shapes resnet_18() {
    Shapes shapes;
    add_convolution(shapes, 3, 64, 3);
    std::int64_t in = 64;
    for (const std::int64_t out : {64, 128, 256, 512}) {
        for (int block = 0; block < 2; ++block) {
            add_convolution(shapes, in, out, 3);
            add_convolution(shapes, out, out, 3);
            if (in != out) add_convolution(shapes, in, out, 1);
            in = out;
        }
    }
    shapes.push_back({10, 512});
    shapes.push_back({10, 1});
    return shapes;
}

// For ImageNet: a 7×7 stem, bottlenecks of three convolutions.
Shapes resnet_50() {
    Shapes shapes;
    add_convolution(shapes, 3, 64, 7);
    std::int64_t in = 64;
    const std::int64_t blocks[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage) {
        const std::int64_t width = std::int64_t{64} << stage;
        for (std::int64_t block = 0; block < blocks[stage]; ++block) {
            add_convolution(shapes, in, width, 1);
            add_convolution(shapes, width, width, 3);
            add_convolution(shapes, width, 4 * width, 1);
            if (block == 0) add_convolution(shapes, in, 4 * width, 1);
            in = 4 * width;
        }
    }
    shapes.push_back({1000, 2048});
    shapes.push_back({1000, 1});
    return shapes;
}

std::int64_t bytes_of(const Shapes& shapes, std::string_view name, double level) {
    std::int64_t bytes = 0;
    for (const TensorShape& shape : shapes) {
        bytes += codec_layout(name, level, shape, 16).message_bytes();
    }
    return bytes;
}

}  // namespace

TEST_CASE("PowerSGD: bytes of ResNet-18 and ResNet-50 by rank", "[codec][golden]") {
    // Recomputed from the layers in the notes on PowerSGD; for ResNet-18 the ratios 243, 136 and 72
    // of Vogels et al., Table 3.
    CHECK(bytes_of(resnet_18(), "none", 0) == 4 * 11'173'962);
    CHECK(bytes_of(resnet_18(), "power_sgd", 1) == 183'740);
    CHECK(bytes_of(resnet_18(), "power_sgd", 2) == 329'040);
    CHECK(bytes_of(resnet_18(), "power_sgd", 4) == 619'640);
    CHECK(bytes_of(resnet_50(), "none", 0) == 4 * 25'557'032);
    CHECK(bytes_of(resnet_50(), "power_sgd", 1) == 546'444);
    CHECK(bytes_of(resnet_50(), "power_sgd", 2) == 876'408);
    CHECK(bytes_of(resnet_50(), "power_sgd", 4) == 1'536'336);
}
