// image_networks.cpp — LeNet, VGG and ResNets from the shapes of their layers.
#include <fmt/format.h>

#include <utility>

#include "sim/cluster/layer_stack.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi::sim {

ModelProfile lenet5() {  // Caffe's, without padding
    LayerStack net("lenet5", "image of 28 x 28", {1, 28, 28});
    net.convolution("conv1", 20, LayerStack::square(5, 1, 0), true);
    net.pool(LayerStack::square(2, 2, 0));
    net.convolution("conv2", 50, LayerStack::square(5, 1, 0), true);
    net.pool(LayerStack::square(2, 2, 0));
    net.dense("ip1", 500);
    net.dense("ip2", 10);
    return net.finished();
}

ModelProfile vgg16() {  // configuration D
    LayerStack net("vgg16", "image of 224 x 224", {3, 224, 224});
    constexpr std::int64_t stages[][2] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
    int stage = 1;
    for (const auto& [channels, convolutions] : stages) {
        for (std::int64_t i = 1; i <= convolutions; ++i) {
            net.convolution(fmt::format("conv{}_{}", stage, i), channels,
                            LayerStack::square(3, 1, 1), true);
        }
        net.pool(LayerStack::square(2, 2, 0));
        ++stage;
    }
    net.dense("fc6", 4096);
    net.dense("fc7", 4096);
    net.dense("fc8", 1000);
    return net.finished();
}

ModelProfile cifar_resnet(std::string name, std::int64_t blocks_per_stage) {
    LayerStack net(std::move(name), "image of 32 x 32", {3, 32, 32});
    const auto unit = [&](const std::string& at, std::int64_t channels, std::int64_t stride) {
        net.convolution(at + ".conv", channels, LayerStack::square(3, stride, 1), false);
        net.batch_norm(at + ".norm");
    };
    unit("stem", 16, 1);
    for (int stage = 0; stage < 3; ++stage) {
        const std::int64_t channels = std::int64_t{16} << stage;
        for (std::int64_t block = 0; block < blocks_per_stage; ++block) {
            const std::string at = fmt::format("stage{}.block{}", stage + 1, block);
            unit(at + ".a", channels, stage > 0 && block == 0 ? 2 : 1);
            unit(at + ".b", channels, 1);
        }
    }
    net.global_pool();
    net.dense("fc", 10);
    return net.finished();
}

ModelProfile cifar_resnet18() {
    LayerStack net("resnet18_cifar", "image of 32 x 32", {3, 32, 32});
    const auto unit = [&](const std::string& at, std::int64_t channels,
                          const LayerStack::Window& window) {
        net.convolution(at + ".conv", channels, window, false);
        net.batch_norm(at + ".norm");
    };
    unit("stem", 64, LayerStack::square(3, 1, 1));
    for (int stage = 0; stage < 4; ++stage) {
        const std::int64_t channels = std::int64_t{64} << stage;
        for (int block = 0; block < 2; ++block) {
            const std::string at = fmt::format("stage{}.block{}", stage + 1, block);
            const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            const LayerStack::Shape input = net.shape();
            unit(at + ".a", channels, LayerStack::square(3, stride, 1));
            unit(at + ".b", channels, LayerStack::square(3, 1, 1));
            if (stride == 1) continue;
            net.set(input);
            unit(at + ".shortcut", channels, LayerStack::square(1, stride, 0));
        }
    }
    net.global_pool();
    net.dense("fc", 10);
    return net.finished();
}

ModelProfile imagenet_resnet(std::string name, const BottleneckStages& stages) {
    LayerStack net(std::move(name), "image of 224 x 224", {3, 224, 224});
    const auto unit = [&](const std::string& at, std::int64_t channels,
                          const LayerStack::Window& window) {
        net.convolution(at + ".conv", channels, window, false);
        net.batch_norm(at + ".norm");
    };
    unit("stem", 64, LayerStack::square(7, 2, 3));
    net.pool(LayerStack::square(3, 2, 1));
    for (int stage = 0; stage < 4; ++stage) {
        const std::int64_t inner = std::int64_t{64} << stage;
        for (std::int64_t block = 0; block < stages.blocks[stage]; ++block) {
            const std::string at = fmt::format("stage{}.block{}", stage + 1, block);
            const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            const LayerStack::Shape input = net.shape();
            unit(at + ".a", inner, LayerStack::square(1, 1, 0));
            unit(at + ".b", inner, LayerStack::square(3, stride, 1));
            unit(at + ".c", 4 * inner, LayerStack::square(1, 1, 0));
            if (block > 0) continue;
            net.set(input);
            unit(at + ".shortcut", 4 * inner, LayerStack::square(1, stride, 0));
        }
    }
    net.global_pool();
    net.dense("fc", 1000);
    return net.finished();
}

}  // namespace ukemi::sim
