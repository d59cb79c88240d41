// kernel_time_test.cpp — products by their shape, and layers kernel by kernel beside recorded
// rates.
#include "sim/cluster/kernel_time.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/layer_kernels.hpp"

namespace ukemi {
namespace {

sim::KernelClock clock_of(const char* gpu, sim::Precision precision) {
    const sim::GpuProfile& profile = sim::gpu_named(gpu, "t");
    return {profile, precision, sim::known_kernel_rates(profile, "t"), "t"};
}

double seconds_of(const sim::KernelClock& clock, const sim::Gemm& gemm) {
    return clock.product(gemm).device_s;
}

}  // namespace

TEST_CASE("kernels: a large product reaches the achievable share of the peak", "[kernels]") {
    const sim::KernelClock a100 = clock_of("a100_sxm4_80gb", sim::Precision::fp16);
    // 108 multiprocessors x 8 tiles of 256 x 128: whole waves.
    const double flops = 2.0 * (256 * 36) * (128 * 24) * 8192;
    CHECK(flops / seconds_of(a100, {256 * 36, 128 * 24, 8192}) == Approx(267.9e12).epsilon(0.02));
    // One row of tiles more is one wave more, in which most wait.
    const double whole = seconds_of(a100, {256 * 36, 128 * 24, 8192});
    const double more = seconds_of(a100, {256 * 36 + 1, 128 * 24, 8192});
    CHECK(more > whole);
    CHECK(more == Approx(seconds_of(a100, {256 * 36 + 64, 128 * 24, 8192})).epsilon(1e-9));
}

TEST_CASE("kernels: small products wait for one wave, thin ones for the memory", "[kernels]") {
    const sim::KernelClock a100 = clock_of("a100_sxm4_80gb", sim::Precision::fp16);
    const double one = seconds_of(a100, {64, 64, 500});
    CHECK(one == seconds_of(a100, {64 * 9, 64 * 12, 500}));  // 108 tiles at once
    CHECK(seconds_of(a100, {64 * 9, 64 * 13, 500}) > one);
    // A vector times a matrix: 2 x 8192 x 8192 bytes at 0.75 of 2039 GB/s, and 2 us.
    CHECK(seconds_of(a100, {1, 8192, 8192}) ==
          Approx(2.0 * (8192.0 * 8192 + 2 * 8192) / (0.75 * 2039e9) + 2e-6).epsilon(1e-9));
    CHECK(a100.traffic(2039e9).device_s == Approx(1 / 0.75).epsilon(1e-5));
}

TEST_CASE("kernels: rows of an odd length are slow, in half precision and in single", "[kernels]") {
    for (const sim::Precision precision : {sim::Precision::fp16, sim::Precision::tf32}) {
        const sim::KernelClock a100 = clock_of("a100_sxm4_80gb", precision);
        const double aligned = seconds_of(a100, {4096, 50304, 2048, 1, 0, 50304});
        const double odd = seconds_of(a100, {4096, 50257, 2048, 1, 0, 50257});
        CHECK(odd / aligned == Approx(4).epsilon(0.03));
    }
    // 50,260 values are a multiple of 16 bytes in single precision, and of 8 in half.
    const sim::Gemm gemm{4096, 50260, 2048, 1, 0, 50260};
    const sim::Gemm plain{4096, 50260, 2048};
    const sim::KernelClock tf32 = clock_of("a100_sxm4_80gb", sim::Precision::tf32);
    const sim::KernelClock fp16 = clock_of("a100_sxm4_80gb", sim::Precision::fp16);
    CHECK(seconds_of(tf32, gemm) == seconds_of(tf32, plain));
    CHECK(seconds_of(fp16, gemm) > 1.9 * seconds_of(fp16, plain));
}

TEST_CASE("kernels: a block of Megatron is 15 kernels forward, and scales as it is cut",
          "[kernels]") {
    const sim::KernelClock a100 = clock_of("a100_sxm4_80gb", sim::Precision::fp16);
    const sim::ModelProfile model = sim::model_named("megatron_8b", "t");
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    double whole = 0;
    double eighth = 0;
    for (const sim::LayerCost& layer : model.layers) {
        if (!layer.name.starts_with("layer0.")) continue;
        const sim::LayerKernels one = sim::layer_kernels(a100, model, layer, {4, 1, false});
        forward += one.forward.launches;
        backward += one.backward.launches;
        whole += one.forward.device_s + one.backward.device_s;
        const sim::LayerKernels cut = sim::layer_kernels(a100, model, layer, {4, 8, false});
        eighth += cut.forward.device_s + cut.backward.device_s;
    }
    CHECK(forward == 15);
    CHECK(backward == 31);
    CHECK(whole / eighth > 4);  // norms and residuals are not cut
    CHECK(whole / eighth < 8);
}

TEST_CASE("kernels: unknown multiprocessors and precisions are refused", "[kernels]") {
    const sim::GpuProfile& k80 = sim::gpu_named("k80", "t");
    CHECK_THROWS_AS(
        sim::KernelClock(k80, sim::Precision::fp16, sim::known_kernel_rates(k80, "t"), "t"),
        InputError);
    sim::GpuProfile other = k80;
    other.name = "other";
    CHECK_THROWS_WITH(sim::known_kernel_rates(other, "here"),
                      "here: no multiprocessors of other are known, to time kernels");
}

TEST_CASE("kernels: images a second of one GPU with nothing fitted to them", "[kernels][golden]") {
    struct Rate {
        const char* model;
        const char* gpu;
        sim::Precision precision;
        std::int64_t batch;
        double recorded;
    };
    // NVIDIA DeepLearningExamples: ResNet-50 in TensorFlow and (A100 of 80 GB) PyTorch.
    constexpr Rate rates[] = {
        {"resnet50", "v100_sxm2_16gb", sim::Precision::fp32, 128, 412},
        {"resnet50", "v100_sxm2_16gb", sim::Precision::fp16, 256, 1270},
        {"resnet50", "a100_sxm4_40gb", sim::Precision::tf32, 256, 909},
        {"resnet50", "a100_sxm4_40gb", sim::Precision::fp16, 256, 2375},
        {"resnet50", "a100_sxm4_80gb", sim::Precision::tf32, 256, 938},
        {"resnet50", "a100_sxm4_80gb", sim::Precision::fp16, 256, 2470},
        {"bert_large", "v100_sxm2_32gb", sim::Precision::fp32, 32, 46.78},
        {"bert_large", "v100_sxm2_32gb", sim::Precision::fp16, 64, 168.63},
        {"bert_large", "a100_sxm4_40gb", sim::Precision::tf32, 64, 238.1},
        {"bert_large", "a100_sxm4_40gb", sim::Precision::fp16, 64, 356.8},
    };
    fmt::print("samples/s of one GPU, kernel by kernel: here, recorded\n");
    double sum = 0;
    for (const Rate& rate : rates) {
        const sim::KernelClock clock = clock_of(rate.gpu, rate.precision);
        const sim::ModelProfile model = sim::model_named(rate.model, "t");
        double device_s = 0;
        for (const sim::LayerCost& layer : model.layers) {
            const sim::LayerKernels one =
                sim::layer_kernels(clock, model, layer, {rate.batch, 1, false});
            device_s += one.forward.device_s + one.backward.device_s;
        }
        const double here = static_cast<double>(rate.batch) / device_s;
        const double error = here / rate.recorded - 1;
        sum += std::abs(error);
        fmt::print("{:<12}{:<16}{:<5} batch {:>3} {:7.1f} {:7.1f} ({:+.0f} %)\n", rate.model,
                   rate.gpu, sim::precision_names[static_cast<std::size_t>(rate.precision)],
                   rate.batch, here, rate.recorded, error * 100);
        CHECK(std::abs(error) < 0.8);
    }
    CHECK(sum / std::size(rates) < 0.35);  // where the model stands
}

}  // namespace ukemi
