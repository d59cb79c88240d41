// known_curves.cpp — two tables of measurements, and the choice between them.
#include "sim/cluster/known_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace ukemi::sim {
namespace {

// ResNet-50: least squares over PyTorch iteration rates that Gavel recorded (batches 16 to 128),
// and over the step times of Pollux (g4dn.12xlarge, one GPU, batches 20 to 200).
constexpr std::string_view gavel = "affine fit to Gavel's throughputs (OSDI 2020)";
constexpr std::string_view gavel_16gb =
    "as v100_sxm2_16gb: affine fit to Gavel's throughputs (OSDI 2020)";
constexpr std::string_view pollux = "affine fit to Pollux's step times (OSDI 2021)";
constexpr MeasuredCurve curves[] = {
    {"resnet50", "k80", Precision::fp32, 0.12602, 0.02181, gavel},
    {"resnet50", "p100_pcie", Precision::fp32, 0.05597, 0.0046, gavel},
    {"resnet50", "v100_sxm2_16gb", Precision::fp32, 0.0424, 0.00281, gavel},
    // The same chip with more memory: batches that fit less go on along the line.
    {"resnet50", "v100_sxm2_32gb", Precision::fp32, 0.0424, 0.00281, gavel_16gb},
    {"resnet50", "t4", Precision::fp32, 0.06438, 0.00449, pollux},
};

constexpr std::string_view dle = "ResNet-50 in TensorFlow, one GPU (NVIDIA DeepLearningExamples)";
// As much faster or slower than a100_sxm4_80gb of this table as PyTorch's rates are in half
// precision (1582 images/s at 1280 there, which is 0.61 of what this table says of it: another
// program) and TF32 (1066 at 640, 1.01 of it; of a GPU without, fp32): images/s of one GPU, github
// lambdal/deeplearning-benchmark, pytorch-train-throughput-fp16.csv and -fp32.csv with the batches
// of -bs-*.csv. V100's own row above is 8 % below what its 833 at 256 would make it.
constexpr std::string_view lambda =
    "ResNet-50 in PyTorch beside A100's (lambdal/deeplearning-benchmark)";
constexpr std::string_view as_v100 = "assumed: as v100_sxm2_16gb";
constexpr Precision fp32 = Precision::fp32;
constexpr Precision tf32 = Precision::tf32;
constexpr Precision fp16 = Precision::fp16;
constexpr Precision bf16 = Precision::bf16;
constexpr Precision fp8 = Precision::fp8;
constexpr std::string_view as_bf16 = "assumed: as fast as its bf16";
constexpr double memory = 0.75;
// In fp32 a layer also takes time whatever the batch: what the straight line of the same GPU's
// ResNet-50 above has at batch 0, less the update, over its 109 layers. In tf32 as much, assumed:
// whose host launches the same layers. With none, VGG-16 would be slower in tf32 than in fp32.
// In half precision the host launches the same layers, too, but ahead of the device, which leaves
// nothing of it in a longer step: ResNet-50 at 128 and 208 images in fp16, on a GPU as fast as
// V100, lies on a straight line with 13 ms at batch 0 (github PaddlePaddle/models, pull request
// 4979), where all of it were 42. Short steps take it: PyTorch at 2 images on an RTX 2080 Ti needs
// 43, 67 and 97 ms in fp32 and 47, 69 and 100 in fp16 for ResNet-50, -101 and -152 (github
// ryujaehun/pytorch-gpu-benchmark, issues 6 and 8), whose 109, 211 and 313 layers make 42, 81 and
// 120 here. On A100 in fp32, DDP, a step is 47.0 ms with 8 images on each of 8, 46.5 with 4
// and 47.7 with 1 on each of 64 (ElasticFlow, ASPLOS 2023), exchange and update included. Of GPUs
// since nothing so short is published: assumed.
constexpr double launch = 0.382e-3;
constexpr KnownShares shares[] = {
    {"k80", fp32, {0.2238, memory, 1.13e-3}, "ResNet-50 at 128: 44.4 images/s (Gavel, OSDI 2020)"},
    {"titan_x_maxwell",
     fp32,
     {0.4144, memory, 0.26e-3},
     "ResNet-50 at 10 and 40: 88.6 and 111 images/s (MXNet finetuner)"},
    {"titan_x_pascal",
     fp32,
     {0.5316, memory, 0.346e-3},
     "ResNet-50 and VGG-16 at 16: 103.58 and 128.62 ms, no update (jcjohnson/cnn-benchmarks)"},
    {"p100_pcie",
     fp32,
     {0.527, memory, 0.505e-3},
     "ResNet-50 at 128: 202.8 images/s (Gavel, OSDI 2020)"},
    {"p100_pcie", fp16, {0.598, memory, 0, 0.505e-3}, "assumed: as its fp32"},
    {"v100_sxm2_16gb", fp32, {0.74, memory, launch}, dle},      // 412 images/s at 128
    {"v100_sxm2_16gb", fp16, {0.348, memory, 0, launch}, dle},  // 1270 images/s at 256
    {"t4", fp32, {0.7764, memory, 0.571e-3}, "ResNet-50 at 200: 217 images/s (Pollux, OSDI 2021)"},
    {"t4", fp16, {0.348, memory, 0, 0.571e-3}, as_v100},
    {"rtx8000", fp32, {0.4009, memory, launch}, lambda},     // 274 images/s at 496
    {"rtx8000", fp16, {0.3005, memory, 0, launch}, lambda},  // 651 at 928
    {"a100_sxm4_40gb", fp32, {0.74, memory, launch}, as_v100},
    {"a100_sxm4_40gb", tf32, {0.2302, memory, launch}, dle},        // 909 images/s at 256
    {"a100_sxm4_40gb", fp16, {0.272, memory, 0, launch}, dle},      // 2375 images/s at 256
    {"a100_pcie_40gb", tf32, {0.2058, memory, launch}, lambda},     // 882 images/s at 360
    {"a100_pcie_40gb", fp16, {0.258, memory, 0, launch}, lambda},   // 1396 at 720
    {"a100_pcie_80gb", tf32, {0.2181, memory, launch}, lambda},     // 1014 at 640
    {"a100_pcie_80gb", fp16, {0.2646, memory, 0, launch}, lambda},  // 1527 at 1280
    {"rtx3090", tf32, {0.5118, memory, launch}, lambda},            // 513 at 224
    {"rtx3090", fp16, {0.7686, memory, 0, launch}, lambda},         // 905 at 448
    {"rtx_a6000", tf32, {0.2376, memory, launch}, lambda},          // 514 at 496
    {"rtx_a6000", fp16, {0.4287, memory, 0, launch}, lambda},       // 916 at 928
    {"a10", tf32, {0.1939, memory, launch}, lambda},                // 349 at 224
    {"a10", fp16, {0.3293, memory, 0, launch}, lambda},             // 638 at 448
    {"rtx4090", tf32, {0.3812, memory, launch}, lambda},            // 721 at 224
    {"rtx4090", fp16, {0.644, memory, 0, launch}, lambda},          // 1301 at 448
    {"rtx4090", fp8, {0.322, memory, 0, launch, 0.644}, as_bf16},
    {"rtx6000_ada", tf32, {0.1299, memory, launch}, lambda},     // 647 at 496
    {"rtx6000_ada", fp16, {0.2282, memory, 0, launch}, lambda},  // 1146 at 928
    {"rtx6000_ada", fp8, {0.1141, memory, 0, launch, 0.2282}, as_bf16},
    {"h100_pcie_80gb", tf32, {0.1134, memory, launch}, lambda},     // 1197 at 640
    {"h100_pcie_80gb", fp16, {0.1453, memory, 0, launch}, lambda},  // 1866 at 1280
    {"h100_pcie_80gb", fp8, {0.0726, memory, 0, launch, 0.1453}, as_bf16},
    {"h100_sxm5_80gb", tf32, {0.1439, memory, launch}, lambda},     // 1893 at 640
    {"h100_sxm5_80gb", fp16, {0.1561, memory, 0, launch}, lambda},  // 2787 at 1280
    {"h100_sxm5_80gb", fp8, {0.078, memory, 0, launch, 0.1561}, as_bf16},
    // Of what it computes without packed instructions, which is half of the peak.
    {"mi300x", fp32, {0.37, memory, launch}, "assumed: as v100_sxm2_16gb, of 81.7 TFLOP/s"},
    {"mi300x", fp8, {0.136, memory, 0, launch, 0.272}, as_bf16},
};

const KnownShares* shares_of(std::string_view gpu, Precision precision) {
    const auto found = std::ranges::find_if(shares, [&](const KnownShares& one) {
        return one.gpu == gpu && one.precision == precision;
    });
    return found == std::end(shares) ? nullptr : found;
}

}  // namespace

std::span<const MeasuredCurve> measured_curves() { return curves; }
std::span<const KnownShares> known_shares() { return shares; }

KnownCurve curve_for(const ModelProfile& model, const GpuProfile& gpu, Precision precision,
                     std::string_view where, std::int64_t state_values) {
    for (const MeasuredCurve& one : curves) {
        if (one.model == model.name && one.gpu == gpu.name && one.precision == precision) {
            return {CostCurve::affine(one.fixed_s, one.seconds_a_sample, where),
                    std::string(one.source), true};
        }
    }
    for (const GpuProfile* of = &gpu; of != nullptr; of = gpu_that_is_like(*of)) {
        const KnownShares* known = shares_of(of->name, precision);
        const bool as_fp16 = known == nullptr && precision == bf16;  // of two bytes, too
        if (as_fp16) known = shares_of(of->name, fp16);
        if (known == nullptr) continue;
        const std::string source = of != &gpu ? fmt::format("assumed: as {}", of->name)
                                   : as_fp16  ? "assumed: as its fp16"
                                              : std::string(known->source);
        return {CostCurve::roofline(model, gpu, precision, known->shares, where, state_values),
                source, false};
    }
    // A GPU that is not in the table, or cannot compute at this precision: roofline() says which.
    return {CostCurve::roofline(model, gpu, precision, {}, where, state_values), "assumed shares",
            false};
}

}  // namespace ukemi::sim
