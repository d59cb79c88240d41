// known_curves_test.cpp — step times predicted from layers beside recorded ones.
#include "sim/cluster/known_curves.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi {
namespace {

struct CurveRow {
    const char* model;
    const char* gpu;
    sim::Precision precision;
    std::int64_t batch;
    double recorded;  // samples/s
    bool fitted;
};

constexpr sim::Precision fp32 = sim::Precision::fp32;
constexpr sim::Precision tf32 = sim::Precision::tf32;
constexpr sim::Precision fp16 = sim::Precision::fp16;
// NVIDIA DeepLearningExamples (TensorFlow ResNet-50 v1.5 and BERT, one GPU; BERT accumulates
// gradients, so its updates are rare); Gavel, OSDI 2020; Pollux, OSDI 2021; the documentation of
// github knjcode/mxnet-finetuner; jcjohnson/cnn-benchmarks (forward and backward, to which our
// update is added); TensorFlow's own (tensorflow.org/performance/benchmarks, May 2017).
constexpr CurveRow rows[] = {
    {"resnet50", "v100_sxm2_16gb", fp32, 128, 412, true},
    {"resnet50", "v100_sxm2_16gb", fp16, 256, 1270, true},
    {"resnet50", "a100_sxm4_40gb", tf32, 256, 909, true},
    {"resnet50", "a100_sxm4_40gb", fp16, 256, 2375, true},
    {"resnet50", "p100_pcie", fp32, 128, 202.8, true},
    {"resnet50", "k80", fp32, 128, 44.44, true},
    {"resnet50", "t4", fp32, 200, 217, true},
    {"resnet50", "titan_x_maxwell", fp32, 40, 111, true},
    {"resnet50", "p100_sxm2", fp32, 64, 219, false},
    // Two were fitted to these two: the share, and the time of a layer.
    {"resnet50", "titan_x_pascal", fp32, 16, 152.4, true},
    {"vgg16", "titan_x_pascal", fp32, 16, 117.4, true},
    {"resnet101", "titan_x_pascal", fp32, 16, 100.7, false},
    {"resnet50", "p100_sxm2", fp32, 32, 195, false},
    {"vgg16", "p100_sxm2", fp32, 64, 154, false},
    {"vgg16", "p100_sxm2", fp32, 32, 144, false},
    {"inception_v3", "p100_sxm2", fp32, 64, 142, false},
    {"inception_v3", "p100_sxm2", fp32, 32, 128, false},
    {"vgg16", "k80", fp32, 32, 35.4, false},
    {"inception_v3", "k80", fp32, 64, 30.5, false},
    {"resnet50", "k80", fp32, 64, 51.9, false},
    {"resnet50", "p100_pcie", fp32, 64, 167.6, false},
    {"resnet50", "p100_pcie", fp32, 16, 144.8, false},
    {"resnet50", "k80", fp32, 16, 36.8, false},
    // The finetuner's rates are ranges over small batches; here their upper ends, at 40 of ResNet.
    {"vgg16", "titan_x_maxwell", fp32, 40, 59, false},
    {"inception_v3", "titan_x_maxwell", fp32, 40, 82, false},
    {"resnet101", "titan_x_maxwell", fp32, 40, 68, false},
    {"bert_large", "v100_sxm2_32gb", fp32, 32, 46.78, false},
    {"bert_large", "v100_sxm2_32gb", fp16, 64, 168.63, false},
    {"bert_large_512", "v100_sxm2_32gb", fp16, 8, 31.23, false},
    {"bert_large", "a100_sxm4_40gb", tf32, 64, 238.1, false},
    {"bert_large", "a100_sxm4_40gb", fp16, 64, 356.8, false},
    {"bert_large_512", "a100_sxm4_40gb", fp16, 16, 70.86, false},
};

// With the shares of the table, the GPU's own or those of the one that it is like, where a line was
// measured, too.
double predicted(const CurveRow& row) {
    const sim::GpuProfile& gpu = sim::gpu_named(row.gpu, "t");
    for (const sim::GpuProfile* of = &gpu; of != nullptr; of = sim::gpu_that_is_like(*of)) {
        for (const sim::KnownShares& one : sim::known_shares()) {
            if (one.gpu != of->name || one.precision != row.precision) continue;
            const sim::CostCurve curve = sim::CostCurve::roofline(
                sim::model_named(row.model, "t"), gpu, row.precision, one.shares, "t");
            return curve.samples_per_second(row.batch);
        }
    }
    return 0;
}

// Images a second of ResNet-50 on one GPU with PyTorch (github lambdal/deeplearning-benchmark).
struct PyTorchRow {
    const char* gpu;
    std::int64_t batch;
    double half;
    std::int64_t single_batch;
    double single;  // TF32, or fp32 where there is none
};
constexpr PyTorchRow pytorch_a100 = {"a100_sxm4_80gb", 1280, 1582, 640, 1066};
constexpr PyTorchRow pytorch_rows[] = {
    {"rtx8000", 928, 651, 496, 274},           {"a100_pcie_40gb", 720, 1396, 360, 882},
    {"a100_pcie_80gb", 1280, 1527, 640, 1014}, {"rtx3090", 448, 905, 224, 513},
    {"rtx_a6000", 928, 916, 496, 514},         {"a10", 448, 638, 224, 349},
    {"rtx4090", 448, 1301, 224, 721},          {"rtx6000_ada", 928, 1146, 496, 647},
    {"h100_pcie_80gb", 1280, 1866, 640, 1197}, {"h100_sxm5_80gb", 1280, 2787, 640, 1893},
};

}  // namespace

TEST_CASE("known curves: rooflines beside recorded rates", "[known_curves][golden]") {
    fmt::print("samples/s of one GPU: roofline, recorded\n");
    for (const CurveRow& row : rows) {
        const double rate = predicted(row);
        const double error = rate / row.recorded - 1;
        fmt::print("{:<15}{:<16}{:<5} batch {:>3} {:7.1f} {:7.1f} ({:+.0f} %){}\n", row.model,
                   row.gpu, sim::precision_names[static_cast<std::size_t>(row.precision)],
                   row.batch, rate, row.recorded, error * 100, row.fitted ? " fitted" : "");
        CAPTURE(row.model, row.gpu, row.batch);
        CHECK(std::abs(error) < (row.fitted ? 0.01 : 0.5));
    }
}

TEST_CASE("known curves: GPUs are as much faster than A100 as one program was measured on them",
          "[known_curves][golden]") {
    const auto rate = [](const PyTorchRow& row, bool half) {
        const bool has_tf32 = sim::gpu_named(row.gpu, "t").peak_flops(tf32) > 0;
        return predicted({"resnet50", row.gpu,
                          half       ? fp16
                          : has_tf32 ? tf32
                                     : fp32,
                          half ? row.batch : row.single_batch, 0, true});
    };
    for (const PyTorchRow& row : pytorch_rows) {
        CAPTURE(row.gpu);
        CHECK(rate(row, true) / rate(pytorch_a100, true) ==
              Approx(row.half / pytorch_a100.half).epsilon(0.01));
        CHECK(rate(row, false) / rate(pytorch_a100, false) ==
              Approx(row.single / pytorch_a100.single).epsilon(0.01));
    }
    // V100 has a row of its own, fitted to another program.
    const PyTorchRow v100 = {"v100_sxm2_16gb", 256, 833, 128, 369};
    const double published = v100.half / pytorch_a100.half;
    const double ours = rate(v100, true) / rate(pytorch_a100, true);
    fmt::print("V100 beside A100 in half precision: {:.3f}, measured {:.3f}\n", ours, published);
    CHECK(std::abs(ours / published - 1) < 0.1);
}

// PyTorch on an RTX 2080 Ti, at 2 images (github ryujaehun/pytorch-gpu-benchmark, issues 6 and 8).
TEST_CASE("known curves: a small step takes what launching takes in every precision",
          "[known_curves][golden]") {
    struct SmallStep {
        const char* model;
        sim::Precision precision;
        double recorded_ms;
    };
    constexpr SmallStep steps[] = {{"resnet50", fp32, 43.2},
                                   {"resnet50", fp16, 47.4},
                                   {"resnet101", fp32, 66.5},
                                   {"resnet101", fp16, 68.8}};
    fmt::print("ms of a step at 2 images: V100, recorded on RTX 2080 Ti\n");
    for (const SmallStep& one : steps) {
        const sim::GpuProfile& gpu = sim::gpu_named("v100_sxm2_32gb", "t");
        const sim::CostCurve curve =
            sim::curve_for(sim::model_named(one.model, "t"), gpu, one.precision, "t").curve;
        const double ms = 1e3 * curve.step_seconds(2);
        fmt::print("{:<10}{} {:6.1f} {:6.1f} ({:+.0f} %)\n", one.model,
                   sim::precision_names[static_cast<std::size_t>(one.precision)], ms,
                   one.recorded_ms, (ms / one.recorded_ms - 1) * 100);
        CHECK(std::abs(ms / one.recorded_ms - 1) < 0.4);
    }
}

TEST_CASE("known curves: no precision launches layers for nothing, and none waits in a long step",
          "[known_curves]") {
    const sim::ModelProfile model = sim::model_named("resnet50", "t");
    for (const sim::KnownShares& one : sim::known_shares()) {
        const sim::GpuProfile& gpu = sim::gpu_named(one.gpu, "t");
        CAPTURE(one.gpu, sim::precision_names[static_cast<std::size_t>(one.precision)]);
        sim::RooflineShares device = one.shares;
        device.launch_s_a_layer = 0;
        const auto roofline = [&](const sim::RooflineShares& shares) {
            return sim::CostCurve::roofline(model, gpu, one.precision, shares, "t");
        };
        const sim::CostCurve whole = roofline(one.shares);
        CHECK(whole.step_seconds(1) > 0.026);
        CHECK(whole.step_seconds(1024) == roofline(device).step_seconds(1024));
        CHECK(whole.device_seconds(1) == roofline(device).device_seconds(1));
        CHECK(whole.step_seconds(1) > whole.update_seconds());
    }
}

TEST_CASE("known curves: in fp8 attention and logits go at the peak of bf16", "[known_curves]") {
    const sim::GpuProfile& gpu = sim::gpu_named("h100_sxm5_80gb", "t");
    const double narrow = gpu.peak_flops(sim::Precision::fp8);
    const double wide = gpu.peak_flops(sim::Precision::bf16);
    CHECK(narrow > 1.9 * wide);
    for (const bool flash : {false, true}) {
        CAPTURE(flash);
        sim::TransformerShape shape{2, 1024, 8, 50'304, 8192, 8192};
        shape.flash = flash;
        const sim::ModelProfile model = sim::gpt2("long", shape);
        // Memory is not what bounds a large batch, nor the update.
        const auto a_sample = [&](sim::Precision precision) {
            const sim::CostCurve curve =
                sim::CostCurve::roofline(model, gpu, precision, {0.02, 1}, "t");
            return curve.step_seconds(101) - curve.step_seconds(100);
        };
        const double tokens = 8192;
        const double weights = 3 * 2 * tokens * 2 * 12 * 1024 * 1024;
        const double logits = 3 * 2 * tokens * 1024 * 50'304;
        const double pairs = (flash ? 3.5 : 6) * 2 * 2 * tokens * tokens * 1024;
        CHECK(a_sample(sim::Precision::bf16) ==
              Approx((weights + logits + pairs) / wide / 0.02).epsilon(2e-4));
        CHECK(a_sample(sim::Precision::fp8) ==
              Approx((weights / narrow + (logits + pairs) / wide) / 0.02).epsilon(2e-4));
    }
    // As fast as bf16 where nothing is known of fp8, whatever the model.
    const sim::ModelProfile gpt2 = sim::model_named("gpt2", "t");
    const auto step_s = [&](sim::Precision precision) {
        return sim::curve_for(gpt2, gpu, precision, "t").curve.step_seconds(64);
    };
    CHECK(step_s(sim::Precision::fp8) == Approx(step_s(sim::Precision::bf16)).epsilon(0.02));
}

TEST_CASE("known curves: measured before roofline, and every GPU has some", "[known_curves]") {
    const sim::ModelProfile model = sim::model_named("resnet50", "t");
    const sim::KnownCurve v100 =
        sim::curve_for(model, sim::gpu_named("v100_sxm2_16gb", "t"), fp32, "t");
    CHECK(v100.measured);
    // Gavel: 2.4968 iterations/s at 128.
    CHECK(v100.curve.samples_per_second(128) == Approx(2.4968 * 128).epsilon(0.02));
    // The same GPU with more memory computes alike, and says whose times it has.
    const sim::KnownCurve larger =
        sim::curve_for(model, sim::gpu_named("v100_sxm2_32gb", "t"), fp32, "t");
    CHECK(larger.measured);
    CHECK_THAT(std::string(larger.source), Catch::StartsWith("as v100_sxm2_16gb: "));
    for (const std::int64_t batch : {16, 128, 256}) {
        CHECK(larger.curve.step_seconds(batch) == v100.curve.step_seconds(batch));
    }
    for (const sim::GpuProfile& gpu : sim::all_gpus()) {
        for (std::size_t p = 0; p < sim::precision_names.size(); ++p) {
            const auto precision = static_cast<sim::Precision>(p);
            CAPTURE(gpu.name, sim::precision_names[p]);
            if (gpu.peak_flops(precision) > 0) {
                const sim::KnownCurve known = sim::curve_for(model, gpu, precision, "t");
                CHECK(known.source != "assumed shares");
                CHECK(known.curve.samples_per_second(64) > 10);
            } else {
                CHECK_THROWS_AS(sim::curve_for(model, gpu, precision, "t"), InputError);
            }
        }
    }
    CHECK(sim::measured_curves().size() >= 4);
}

}  // namespace ukemi
