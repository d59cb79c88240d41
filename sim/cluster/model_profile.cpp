// model_profile.cpp — the table of models, and sums over their layers.
#include "sim/cluster/model_profile.hpp"

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi::sim {
namespace {

constexpr ModelEntry models[] = {
    {"lenet5", "LeNet-5 on MNIST", "Caffe's lenet_train_test.prototxt, after LeCun et al. 1998",
     lenet5},
    {"resnet32", "ResNet-32 on CIFAR-10", "He et al., CVPR 2016, section 4.2",
     [] { return cifar_resnet("resnet32", 5); }},
    {"resnet56", "ResNet-56 on CIFAR-10", "He et al., CVPR 2016, section 4.2",
     [] { return cifar_resnet("resnet56", 9); }},
    {"resnet18_cifar", "ResNet-18 on CIFAR-10", "Vogels et al., arXiv:1905.13727 (github kuangliu)",
     cifar_resnet18},
    {"resnet50", "ResNet-50 on ImageNet", "He et al., CVPR 2016, table 1; stride as torchvision",
     [] {
         return imagenet_resnet("resnet50", {{3, 4, 6, 3}});
     }},
    {"resnet101", "ResNet-101 on ImageNet", "He et al., CVPR 2016, table 1; stride as torchvision",
     [] {
         return imagenet_resnet("resnet101", {{3, 4, 23, 3}});
     }},
    {"vgg16", "VGG-16 on ImageNet", "Simonyan and Zisserman, ICLR 2015, configuration D", vgg16},
    {"inception_v3", "Inception-v3 on ImageNet, no auxiliary head",
     "Szegedy et al., CVPR 2016; shapes as torchvision",
     [] { return inception_v3("inception_v3", 299); }},
    {"inception_v3_224", "Inception-v3 on images of 224 pixels",
     "as above; the image size of KungFu's and Horovod's synthetic benchmarks",
     [] { return inception_v3("inception_v3_224", 224); }},
    {"bert_base", "BERT-base, sequences of 128", "Devlin et al., NAACL 2019, section 3",
     [] {
         return bert("bert_base", {12, 768, 12, 30522, 512, 128});
     }},
    {"bert_large", "BERT-large, sequences of 128", "Devlin et al., NAACL 2019, section 3",
     [] {
         return bert("bert_large", {24, 1024, 16, 30522, 512, 128});
     }},
    {"bert_large_512", "BERT-large, sequences of 512", "Devlin et al., NAACL 2019, section 3",
     [] {
         return bert("bert_large_512", {24, 1024, 16, 30522, 512, 512});
     }},
    {"gpt2", "GPT-2, 124 million parameters", "Radford et al. 2019, table 2, smallest",
     [] {
         return gpt2("gpt2", {12, 768, 12, 50257, 1024, 1024});
     }},
    {"gpt2_xl", "GPT-2, 1.6 billion parameters", "Radford et al. 2019, table 2, largest",
     [] {
         return gpt2("gpt2_xl", {48, 1600, 25, 50257, 1024, 1024});
     }},
    {"megatron_8b", "Megatron GPT-2, 8.3 billion parameters",
     "Shoeybi et al. 2019, table 2 (72 layers of 3072, vocabulary padded to 51,200)",
     [] {
         return gpt2("megatron_8b", {72, 3072, 32, 51200, 1024, 1024});
     }},
};

}  // namespace

std::int64_t ModelProfile::parameters() const {
    std::int64_t sum = 0;
    for (const GradientTensor& tensor : tensors) sum += tensor.elements;
    return sum;
}

double ModelProfile::forward_flops() const {
    double sum = 0;
    for (const LayerCost& layer : layers) sum += layer.forward_flops;
    return sum;
}

double ModelProfile::flops_again() const {
    double sum = 0;
    for (const LayerCost& layer : layers) sum += layer.flops_again;
    return sum;
}

Bytes ModelProfile::gradient_bytes(std::int64_t bytes_per_element) const {
    return bytes_per_element * bytes(parameters());
}

std::span<const ModelEntry> all_models() { return models; }

ModelProfile model_named(std::string_view name, std::string_view where) {
    std::vector<std::string_view> names;
    for (const ModelEntry& model : models) {
        if (model.name == name) return model.make();
        names.push_back(model.name);
    }
    throw InputError(
        where, "",
        fmt::format("there is no model {}{}", ukemi::quoted(name), did_you_mean(name, names)));
}

}  // namespace ukemi::sim
