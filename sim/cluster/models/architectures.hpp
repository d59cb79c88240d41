// architectures.hpp — what the table of models calls.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

ModelProfile lenet5();
ModelProfile vgg16();
ModelProfile inception_v3(std::string name, std::int64_t side);  // pixels of an image
// He et al. for CIFAR-10: 6n + 2 layers, shortcuts without parameters.
ModelProfile cifar_resnet(std::string name, std::int64_t blocks_per_stage);
// ResNet-18 as others than its authors train it on CIFAR-10: four stages, a stem of 3 x 3.
ModelProfile cifar_resnet18();
// Bottleneck blocks with the stride in the 3 x 3 convolution, as torchvision has them.
struct BottleneckStages {
    std::int64_t blocks[4];
};
ModelProfile imagenet_resnet(std::string name, const BottleneckStages& stages);

ModelProfile bert(std::string name, const TransformerShape& shape);  // encoder and pooler, no head
ModelProfile gpt2(std::string name, const TransformerShape& shape);

}  // namespace ukemi::sim
