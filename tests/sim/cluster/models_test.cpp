// models_test.cpp — shapes against published counts, step times and memory against recorded ones.
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "base/input_error.hpp"
#include "sim/cluster/cost_curve.hpp"
#include "sim/cluster/layer_kernels.hpp"
#include "sim/cluster/memory_need.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi {

TEST_CASE("models: parameters add up to the published counts", "[models]") {
    const auto [name, parameters] = GENERATE(table<std::string, std::int64_t>({
        // Read at the source:
        {"resnet32", 464'154},       // Multiverso wiki
        {"resnet50", 25'557'032},    // torchvision, as in Parcae's profile
        {"vgg16", 138'357'544},      // KungFu's tensor list
        {"bert_base", 109'482'240},  // KungFu's tensor list without the SQuAD head
        // Published totals, unverified here:
        {"lenet5", 431'080},             // Caffe's MNIST example
        {"resnet56", 853'018},           // Keras' CIFAR example
        {"resnet18_cifar", 11'173'962},  // 1023 MiB an epoch of 16 workers (arXiv:1905.13727)
        {"resnet101", 44'549'160},       // torchvision
        {"inception_v3", 23'834'568},    // torchvision without the auxiliary head
        {"inception_v3_224", 23'834'568},
        {"bert_large", 335'141'888},  // Hugging Face bert-large-uncased
        {"gpt2", 124'439'808},        // Hugging Face gpt2
        {"gpt2_xl", 1'557'611'200},   // Hugging Face gpt2-xl
    }));
    CAPTURE(name);
    const sim::ModelProfile model = sim::model_named(name, "test");
    CHECK(model.parameters() == parameters);
    std::int64_t by_layer = 0;
    for (const sim::LayerCost& layer : model.layers) by_layer += layer.parameters;
    CHECK(by_layer == parameters);
    CHECK(model.gradient_bytes() == bytes(4 * parameters));
}

TEST_CASE("models: Megatron's count is the formula's and the last normalisation", "[models]") {
    // Narayanan et al., SC 2021, eq. 2: 12 L h² (1 + 13/(12 h)) + (V + S) h, which leaves out the
    // 2 h of the normalisation before the logits.
    const std::int64_t layers = 72;
    const std::int64_t h = 3072;
    const std::int64_t formula = 12 * layers * h * h + 13 * layers * h + (51'200 + 1024) * h;
    CHECK(formula == 8'317'034'496);
    CHECK(sim::model_named("megatron_8b", "test").parameters() == formula + 2 * h);
}

TEST_CASE("models: VGG-16 and ResNet-50 have the tensors that KungFu lists", "[models]") {
    // lsds/KungFu, fakemodel sizes: the first and last of VGG-16; ResNet-50's fully connected
    // layer; Keras adds a bias to each of ResNet-50's 53 convolutions, torchvision none.
    const sim::ModelProfile vgg = sim::model_named("vgg16", "test");
    REQUIRE(vgg.tensors.size() == 32);
    CHECK(vgg.tensors[0].elements == 1728);
    CHECK(vgg.tensors[26].elements == 102'760'448);
    CHECK(vgg.tensors[31].elements == 1000);
    const sim::ModelProfile resnet = sim::model_named("resnet50", "test");
    REQUIRE(resnet.tensors.size() == 214 - 53);
    CHECK(resnet.tensors[0].elements == 9408);
    CHECK(resnet.tensors[159].elements == 2'048'000);
}

TEST_CASE("models: multiply-adds of the forward pass are the published ones", "[models]") {
    // Published with two or three digits: torchvision's model table (GFLOPS there are multiply-
    // adds); for CIFAR, He et al. and the reference implementations.
    const auto [name, giga] = GENERATE(table<std::string, double>({{"resnet32", 0.069},
                                                                   {"resnet56", 0.125},
                                                                   {"resnet18_cifar", 0.556},
                                                                   {"resnet50", 4.09},
                                                                   {"resnet101", 7.80},
                                                                   {"vgg16", 15.47},
                                                                   {"inception_v3", 5.71},
                                                                   {"lenet5", 0.0023}}));
    CAPTURE(name);
    CHECK(sim::model_named(name, "test").forward_flops() / 2e9 == Approx(giga).epsilon(0.01));
}

TEST_CASE("models: Megatron's arithmetic is the published formula", "[models]") {
    // Narayanan et al., SC 2021: 96 B s L h² (1 + s/(6 h) + V/(16 L h)) with recomputation; three
    // quarters of the layers' part without: 72 s L h² (1 + s/(6 h) + V/(12 L h)) a sequence.
    const double s = 1024;
    const double layers = 72;
    const double h = 3072;
    const double expected =
        72 * s * layers * h * h * (1 + s / (6 * h) + 51'200 / (12 * layers * h));
    CHECK(sim::model_named("megatron_8b", "test").training_flops() ==
          Approx(expected).epsilon(1e-12));
}

TEST_CASE("models: an unknown name is answered with the nearest", "[models]") {
    CHECK_THROWS_WITH(sim::model_named("resnet500", "--model"),
                      Catch::Contains("no model \"resnet500\" (did you mean \"resnet50\"?)"));
}

TEST_CASE("cost curve: the forms say what they are asked", "[cost_curve]") {
    const sim::CostCurve affine = sim::CostCurve::affine(0.25, 0.125, "test");
    CHECK(affine.step_seconds(2) == 0.5);
    CHECK(affine.step_time(2) == milliseconds(500));
    CHECK(affine.samples_per_second(2) == 4);
    const sim::CostCurve floored = sim::CostCurve::floored(0.067, 0.0, 0.001, "test");
    CHECK(floored.step_seconds(16) == 0.067);
    CHECK(floored.step_seconds(128) == Approx(0.128));
    const sim::CostCurve table = sim::CostCurve::table({{10, 1.0}, {20, 1.5}, {40, 3.5}}, "test");
    CHECK(table.step_seconds(1) == 1.0);
    CHECK(table.step_seconds(15) == Approx(1.25));
    CHECK(table.step_seconds(20) == Approx(1.5));
    CHECK(table.step_seconds(50) == Approx(4.5));
}

TEST_CASE("cost curve: flash attention computes half of the pairs, and keeps them on the chip",
          "[cost_curve]") {
    // Eight blocks of 2048 on 8192 tokens: 4 s² h and twice that back, or 2 s² h and 5 s² h.
    sim::TransformerShape shape{8, 2048, 16, 32000, 8192, 8192};
    const sim::ModelProfile plain = sim::gpt2("plain", shape);
    shape.flash = true;
    const sim::ModelProfile flash = sim::gpt2("flash", shape);
    const double pairs = 8 * 8192.0 * 8192 * 2048;
    CHECK(plain.forward_flops() - flash.forward_flops() == 2 * pairs);
    CHECK(plain.training_flops() - flash.training_flops() == (12 - 7) * pairs);
    // Queries, keys, values and results move either way, and 8 values of each pair and head.
    CHECK(plain.layers[1].values_moved - flash.layers[1].values_moved ==
          std::int64_t{8} * 16 * 8192 * 8192);
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_80gb", "test");
    const auto seconds_of = [&](const sim::ModelProfile& model) {
        return sim::CostCurve::roofline(model, gpu, sim::Precision::bf16, {0.5, 0.75, 0}, "test")
            .step_seconds(1);
    };
    // By kernels, a step takes as much less (one GPU, batch 1).
    const sim::KernelClock clock(gpu, sim::Precision::bf16, sim::known_kernel_rates(gpu, "test"),
                                 "test");
    const auto kernel_seconds = [&](const sim::ModelProfile& model) {
        double sum = 0;
        for (const sim::LayerCost& layer : model.layers) {
            const sim::LayerKernels kernels = sim::layer_kernels(clock, model, layer, {});
            sum += kernels.forward.device_s + kernels.backward.device_s;
        }
        return sum;
    };
    const double of_roofline = seconds_of(flash) / seconds_of(plain);
    const double of_kernels = kernel_seconds(flash) / kernel_seconds(plain);
    CHECK(of_roofline == Approx(of_kernels).epsilon(0.25));
    CHECK(of_roofline < 0.6);
    // A layer of arithmetic only: 7 s² h FLOP at half of the peak.
    const double arithmetic_s =
        flash.training_flops() / (0.5 * gpu.peak_flops(sim::Precision::bf16));
    CHECK(seconds_of(flash) > arithmetic_s);
    CHECK(seconds_of(flash) < 1.1 * arithmetic_s);
}

TEST_CASE("cost curve: senseless numbers are refused", "[cost_curve]") {
    CHECK_THROWS_WITH(sim::CostCurve::affine(-1, 0, "box.json"),
                      Catch::Contains("box.json") && Catch::Contains("at least 0 s, found -1"));
    CHECK_THROWS_AS(sim::CostCurve::affine(0, 0, "t"), InputError);
    CHECK_THROWS_AS(sim::CostCurve::affine(0, std::numeric_limits<double>::quiet_NaN(), "t"),
                    InputError);
    CHECK_THROWS_AS(sim::CostCurve::table({}, "t"), InputError);
    CHECK_THROWS_WITH(sim::CostCurve::table({{8, 1.0}, {8, 2.0}}, "t"),
                      Catch::Contains("rising batches above 0, found 8 after 8"));
    CHECK_THROWS_WITH(sim::CostCurve::table({{8, 0.0}}, "t"), Catch::Contains("a time above 0 s"));
    const sim::ModelProfile model = sim::model_named("resnet50", "t");
    CHECK_THROWS_WITH(
        sim::CostCurve::roofline(model, sim::gpu_named("k80", "t"), sim::Precision::fp16, {}, "t"),
        Catch::Contains("k80 has no fp16 arithmetic"));
    CHECK_THROWS_AS(sim::CostCurve::roofline(model, sim::gpu_named("t4", "t"), sim::Precision::fp32,
                                             {.arithmetic = 1.5}, "t"),
                    InputError);
}

TEST_CASE("cost curve: larger batches never take less, and never slow a sample down",
          "[cost_curve][property]") {
    const std::string name = GENERATE("lenet5", "resnet50", "vgg16", "bert_large", "gpt2");
    const std::string gpu = GENERATE("k80", "v100_sxm2_16gb", "h100_sxm5_80gb");
    CAPTURE(name, gpu);
    const sim::CostCurve curve =
        sim::CostCurve::roofline(sim::model_named(name, "t"), sim::gpu_named(gpu, "t"),
                                 sim::Precision::fp32, {0.6, 0.7, 10e-6}, "t");
    for (std::int64_t batch = 1; batch < 1024; batch *= 2) {
        CHECK(curve.step_seconds(2 * batch) >= curve.step_seconds(batch));
        CHECK(curve.samples_per_second(2 * batch) >= curve.samples_per_second(batch) * 0.999999);
    }
}

TEST_CASE("memory: batches that were trained with fit, and far larger ones do not", "[memory]") {
    struct Case {
        const char* model;
        const char* gpu;
        sim::Precision precision;
        sim::OptimiserKind optimiser;
        std::int64_t fits;
        std::int64_t too_large;
    };
    // What fits: batches of NVIDIA DeepLearningExamples (TensorFlow ResNet-50 v1.5, BERT), the
    // largest in their tables. What does not is our own bound, against counting too little.
    const Case one = GENERATE(Case{"resnet50", "v100_sxm2_16gb", sim::Precision::fp32,
                                   sim::OptimiserKind::momentum, 128, 256},
                              Case{"resnet50", "v100_sxm2_16gb", sim::Precision::fp16,
                                   sim::OptimiserKind::momentum, 256, 512},
                              Case{"resnet50", "a100_sxm4_40gb", sim::Precision::tf32,
                                   sim::OptimiserKind::momentum, 256, 512},
                              Case{"bert_large", "v100_sxm2_32gb", sim::Precision::fp16,
                                   sim::OptimiserKind::adam, 64, 256},
                              Case{"bert_large", "v100_sxm2_16gb", sim::Precision::fp16,
                                   sim::OptimiserKind::adam, 16, 128});
    CAPTURE(one.model, one.gpu, one.fits);
    const sim::ModelProfile model = sim::model_named(one.model, "t");
    const sim::GpuProfile& gpu = sim::gpu_named(one.gpu, "t");
    const sim::MemoryRule rule = sim::MemoryRule::of(one.precision, one.optimiser);
    const std::int64_t most = sim::batch_max(model, gpu, rule);
    CAPTURE(most);
    CHECK(most >= one.fits);
    CHECK(most < one.too_large);
    CHECK(sim::memory_need(model, most, rule).total() <= gpu.memory);
    CHECK(sim::memory_need(model, most + 1, rule).total() > gpu.memory);
}

TEST_CASE("memory: what the exchange keeps is once on the GPU, whatever its learners", "[memory]") {
    const sim::ModelProfile model = sim::model_named("lenet5", "t");
    sim::GpuProfile gpu = sim::gpu_named("k80", "t");
    sim::MemoryRule rule = sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    rule.learners = 3;
    const Bytes without = sim::memory_need(model, 5, rule).total();
    rule.values_exchanged = 1;
    const sim::MemoryNeed need = sim::memory_need(model, 5, rule);
    CHECK(need.exchange == bytes(2 * 431'080));
    CHECK(need.total() == without + need.exchange);
    gpu.memory = sim::memory_need(model, 0, rule).total();
    CHECK_THROWS_WITH(sim::check_memory(model, gpu, 1, rule, "s.json"),
                      Catch::Contains(", kept of the exchange 862160, kept for the backward pass"));
}

TEST_CASE("memory: a refusal says the bytes", "[memory]") {
    const sim::ModelProfile model = sim::model_named("lenet5", "t");
    sim::GpuProfile gpu = sim::gpu_named("k80", "t");
    gpu.memory = mebibytes(1024) + bytes(12 * 431'080 + 1'000'000);
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp32, sim::OptimiserKind::momentum);
    const std::int64_t most = sim::batch_max(model, gpu, rule);
    CHECK(most == 1'000'000 / (4 * model.values_kept));
    CHECK_NOTHROW(sim::check_memory(model, gpu, most, rule, "s.json"));
    CHECK_THROWS_WITH(sim::check_memory(model, gpu, most + 1, rule, "s.json"),
                      Catch::Contains("s.json") && Catch::Contains("optimiser 5172960") &&
                          Catch::Contains("k80 has 1079914784") &&
                          Catch::Contains("the largest batch that fits is"));
    gpu.memory = mebibytes(1);
    CHECK_THROWS_WITH(sim::check_memory(model, gpu, 1, rule, "s.json"),
                      Catch::Contains("not even a batch of 1 fits"));
    CHECK_THROWS_AS(
        sim::check_memory(model, gpu, std::numeric_limits<std::int64_t>::max(), rule, "t"),
        InputError);
}

}  // namespace ukemi
