// kernel_time.cpp — tiles, waves, and what is known of GPUs.
#include "sim/cluster/kernel_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/cost_curve.hpp"

namespace ukemi::sim {
namespace {

struct Tile {
    std::int64_t rows;
    std::int64_t columns;
};
// Those of cuBLAS, as the guide above lists them.
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64},
                          {64, 256},  {128, 64},  {64, 128},  {64, 64}};
constexpr std::int64_t splits[] = {1, 2, 4, 8};
constexpr std::int64_t least_depth = 256;  // of a part of a split product

enum class FlashFamily : std::uint8_t { older, ampere, hopper, blackwell, cdna_3 };

struct KnownRates {
    std::string_view gpu;
    double l2_gb_per_s;
    double product_share;
    double eight_bit_share;  // 0: has no fp8
    std::string_view source;
    FlashFamily family;
    bool scales_blocks = false;
};

// Flash attention, of the peak of the step's precision (half of all pairs, and 2.5 times as much
// backward as forward, are counted here as in these sources), the best program known of a family
// first:
//   Ampere     FlashAttention-2 up to 73 % forward and 63 % backward (Dao 2023, arXiv:2307.08691,
//              figures 5 and 6, heads of 128), with heads of 64 as much less as the same program on
//              H100 (324 of 370 and 291 of 322 TFLOP/s), whose figures give the ramp, too; the one
//              before it half of that (the same paper: about twice as fast)
//   Hopper     fits to what FlashAttention-3 reaches (Shah et al. 2024, arXiv:2407.08608, figures 5
//              and 6); FlashAttention-2 as much less as there on 16,384 tokens: forward 335 of 616
//              TFLOP/s with heads of 128, with 64 as on Ampere, backward 322 of 561 and 291 of 474;
//              the one before it half of that, as on Ampere (assumed)
//   Blackwell  FlashAttention-4 on B200 (github Dao-AILab/flash-attention, pull requests 2605 and
//              2280), backward with heads of 64 as much less as on Hopper; cuDNN's, which
//              TransformerEngine runs there, causal with heads of 128: 9.13 on B200 1171 and 942
//              TFLOP/s on 8192 tokens, 1419 and 1109 on 32,768; 9.17 on GB200 1584 and 1211, 1681
//              and 1348 (github NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training); heads of
//              64 as much less as on Hopper
//   CDNA 3     up to 480 TFLOP/s forward with heads of 128 (github AMD-AGI/Primus-Turbo, pull
//              request 43), the rest in Hopper's proportions
// GPUs before Ampere, which have no such kernel that anybody has published rates of, are taken to
// reach Ampere's. Programs without a name cannot be asked for.
struct FlashProgram {
    FlashFamily family;
    std::string_view name;
    FlashRates rates;
};
constexpr FlashProgram flash_programs[] = {
    {FlashFamily::older, "", {0.64, 0.73, 0.57, 0.63, 400}},
    {FlashFamily::ampere, "flash_2", {0.64, 0.73, 0.57, 0.63, 400}},
    {FlashFamily::ampere, "flash_1", {0.32, 0.365, 0.285, 0.315, 400}},
    {FlashFamily::hopper, "flash_3", {0.50, 0.65, 0.48, 0.57, 500}},
    {FlashFamily::hopper, "flash_2", {0.31, 0.353, 0.295, 0.327, 500}},
    {FlashFamily::hopper, "flash_1", {0.155, 0.177, 0.147, 0.164, 500}},
    {FlashFamily::blackwell, "flash_4", {0.40, 0.64, 0.51, 0.60, 1000}},
    {FlashFamily::blackwell, "cudnn_9_17", {0.54, 0.70, 0.46, 0.55, 1000}},
    {FlashFamily::blackwell, "cudnn_9_13", {0.52, 0.67, 0.45, 0.535, 2300}},
    {FlashFamily::cdna_3, "", {0.28, 0.37, 0.27, 0.32, 500}},
};
static_assert(std::ranges::all_of(flash_programs, [](const FlashProgram& one) {
    return one.name.empty() || std::ranges::find(flash_names, one.name) != flash_names.end();
}));

// L2: table 3 of Ultrasonics Sonochemistry 99, 106546 (2023) for V100, A100 and H100; the others'
// as much faster than their memory as V100's, those with GDDR from Ampere on as fast a
// multiprocessor as V100's (assumed).
//
// Products, until Hopper the best of many shapes: "maximum achievable matmul FLOPS" (github
// stas00/ml-engineering, compute/accelerator): in bf16 A100 267.9 of 312, H100 794.5 of 989 (H200
// the same), MI300X 781.9 of 1307.4 TFLOP/s; in fp8 H100 1402.6 and H200 1453.4 of 1979. MI300X in
// fp8 1273 of 2614.9 (AMD, "Measuring Max-Achievable FLOPs", part 2, which has 708 in bf16).
// A100 on PCIe 256.4, and by the same search with medians (github mag-/gpu_benchmark) A10G 69.7,
// RTX 3090 78.0 and 4090 178.8 (clocks above those of their data sheets), RTX A6000 131.2, RTX 6000
// Ada 278.5, L4 91.4, L40S 252, H100 on PCIe 499.5, H100 NVL 488.5; their fp8 is taken to reach the
// same share, at most all of it. GPUs not named: as the one that they are like, those before Ampere
// as A100 (assumed).
//
// Blackwell's power and kernels allow its best shapes (in that table B200 1745 of 2250, B300 1769,
// GB200 1822 of 2500; in fp8 3432.5 of 4500, 3353.3, 3615.6 of 5000) not what models have. So B200
// is given what the twelve products of a block have taken on B300, whose peaks are B200's
// (NVIDIA/TransformerEngine, docs/examples/gemm_profiling: 12.758 and 13.102 ms in bf16, 7.161 in
// MXFP8, 6.812 with one scale a matrix), with this clock's waves; GB200 as much less as in that
// table. On Hopper the same products say that fp8 is right (H200 NVL: 0.711 of its peak).
constexpr double l2_to_memory = 3133.0 / 900;
constexpr double l2_a_multiprocessor = 3133.0 / 80;
constexpr double ampere_share = 0.859;
constexpr double ada_share = 278.5 / 364.2;
constexpr double hopper_share = 0.803;
constexpr double b200_share = 0.666;
constexpr double gb200_share = b200_share * (1822.0 / 2500) / (1745.0 / 2250);
constexpr double cdna_3_share = 0.598;
constexpr double h100_eight = 1402.6 / 1979;
constexpr double h200_eight = 1453.4 / 1979;
constexpr double b200_eight = 0.602;
constexpr double gb200_eight = b200_eight * (3615.6 / 5000) / (3432.5 / 4500);
constexpr double mi300x_eight = 1273 / 2614.9;
constexpr std::string_view measured = "achievable products, github stas00/ml-engineering";
constexpr std::string_view measured_amd =
    "achievable products, github stas00/ml-engineering, in fp8 AMD's";
constexpr std::string_view found = "achievable products, github mag-/gpu_benchmark";
constexpr std::string_view of_a_block = "products of a block, TransformerEngine's gemm_profiling";
constexpr std::string_view assumed = "assumed: products as on A100";
constexpr KnownRates known[] = {
    {"k80", 240 * l2_to_memory, ampere_share, 0, assumed, FlashFamily::older},
    {"titan_x_maxwell", 336.5 * l2_to_memory, ampere_share, 0, assumed, FlashFamily::older},
    {"titan_x_pascal", 480 * l2_to_memory, ampere_share, 0, assumed, FlashFamily::older},
    {"p100_pcie", 732 * l2_to_memory, ampere_share, 0, assumed, FlashFamily::older},
    {"v100_sxm2_16gb", 3133, ampere_share, 0, assumed, FlashFamily::older},
    {"t4", 320 * l2_to_memory, ampere_share, 0, assumed, FlashFamily::older},
    {"rtx8000", 672 * l2_to_memory, ampere_share, 0, assumed, FlashFamily::older},
    {"a100_sxm4_40gb", 7219, ampere_share, 0, measured, FlashFamily::ampere},
    {"a100_pcie_40gb", 7219, 256.4 / 312, 0, measured, FlashFamily::ampere},
    {"a100_pcie_80gb", 7219, 256.4 / 312, 0, measured, FlashFamily::ampere},
    {"rtx3090", 82 * l2_a_multiprocessor, 78.0 / 71, 0, found, FlashFamily::ampere},
    {"rtx_a6000", 84 * l2_a_multiprocessor, 131.2 / 154.8, 0, found, FlashFamily::ampere},
    {"a10g", 80 * l2_a_multiprocessor, 69.7 / 70, 0, found, FlashFamily::ampere},
    {"rtx4090", 128 * l2_a_multiprocessor, 178.8 / 165.2, 1, found, FlashFamily::ampere},
    {"rtx6000_ada", 142 * l2_a_multiprocessor, ada_share, ada_share, found, FlashFamily::ampere},
    {"l4", 58 * l2_a_multiprocessor, 91.4 / 121, 91.4 / 121, found, FlashFamily::ampere},
    {"l40s", 142 * l2_a_multiprocessor, 252.0 / 362, 252.0 / 362, found, FlashFamily::ampere},
    {"h100_sxm5_80gb", 8986, hopper_share, h100_eight, measured, FlashFamily::hopper},
    {"h100_pcie_80gb", 8986 * 114.0 / 132, 499.5 / 756, 499.5 / 756, found, FlashFamily::hopper},
    {"h100_nvl_94gb", 8986, 488.5 / 835.5, 488.5 / 835.5, found, FlashFamily::hopper},
    {"h200_sxm_141gb", 8986, hopper_share, h200_eight, measured, FlashFamily::hopper},
    {"b200_sxm_180gb", 7700 * l2_to_memory, b200_share, b200_eight, of_a_block,
     FlashFamily::blackwell, true},
    {"gb200_186gb", 8000 * l2_to_memory, gb200_share, gb200_eight, of_a_block,
     FlashFamily::blackwell, true},
    {"mi300x", 5300 * l2_to_memory, cdna_3_share, mi300x_eight, measured_amd, FlashFamily::cdna_3},
};

// Of the memory's rate: assumed, as in known_curves.cpp. PyTorch in eager mode: 2.45 ms of one
// core for the 74 kernels of a Megatron layer forward, again and backward (PyTorch 2.0.1 on tiny
// tensors, Xeon at 2.5 GHz, measured for this file) and 5 us for each launch (assumed). Products
// with odd rows: padding GPT-2's vocabulary from 50,257 to 50,304 made steps of 135 ms 25 % faster
// (A. Karpathy, nanoGPT, batch 12 on A100), which is four times the logits' products.
constexpr double memory_share = 0.75;
constexpr double host_s = 2.45e-3 / 74 + 5e-6;
constexpr double odd_row_share = 0.25;
constexpr double kernel_start_s = 2e-6;  // assumed

// Rows that begin at multiples of 8 or 4 bytes are loaded in copies of that size (PTX's cp.async
// has 4, 8 and 16), so many more for the same bytes: as much slower, never below the measured odd
// ones. (Assumed; that 8 bytes are better than 2 was seen in Megatron's steps with 4 ranks.) Both
// are of tensor cores: in fp32, and where there are none, products are computed without them, from
// values loaded one by one.
double alignment_share(std::int64_t row_bytes, double unaligned_share) {
    if (row_bytes % 16 == 0) return 1;
    return std::max(row_bytes % 8 == 0 ? 0.5 : row_bytes % 4 == 0 ? 0.25 : 0, unaligned_share);
}

std::int64_t rounded_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

struct Found {
    const KnownRates* row = nullptr;  // none: nothing is known
    const GpuProfile* of = nullptr;
};

// Of the GPU itself, else of the one that it is like.
Found known_of(const GpuProfile& gpu) {
    for (const GpuProfile* of = &gpu; of != nullptr; of = gpu_that_is_like(*of)) {
        const auto row = std::ranges::find(known, of->name, &KnownRates::gpu);
        if (row != std::end(known)) return {row, of};
    }
    return {};
}

}  // namespace

KernelRates known_kernel_rates(const GpuProfile& gpu, std::string_view where) {
    const Found one = known_of(gpu);
    if (one.row == nullptr || gpu.multiprocessors == 0) {
        throw InputError(
            where, "",
            fmt::format("no multiprocessors of {} are known, to time kernels", gpu.name));
    }
    const FlashProgram* best =
        std::ranges::find(flash_programs, one.row->family, &FlashProgram::family);
    const double parts =
        static_cast<double>(gpu.multiprocessors) / static_cast<double>(one.of->multiprocessors);
    KernelRates rates;
    rates.multiprocessors = gpu.multiprocessors;
    rates.l2_gb_per_s = one.row->l2_gb_per_s * parts;
    rates.product_share = one.row->product_share;
    rates.eight_bit_share = one.row->eight_bit_share;
    rates.unaligned_share = odd_row_share;
    rates.memory_share = memory_share;
    rates.start_s = kernel_start_s;
    rates.launch_s = host_s;
    rates.scales_blocks = one.row->scales_blocks;
    rates.source = one.of->name == gpu.name
                       ? std::string(one.row->source)
                       : fmt::format("as {}: {}", one.of->name, one.row->source);
    rates.flash = best->rates;
    rates.flash_program = best->name;
    return rates;
}

void choose_flash(KernelRates& rates, const GpuProfile& gpu, std::string_view program,
                  std::string_view where) {
    const KnownRates* const known_gpu = known_of(gpu).row;
    INVARIANT(known_gpu != nullptr);
    std::string names;
    for (const FlashProgram& one : flash_programs) {
        if (one.family != known_gpu->family || one.name.empty()) continue;
        if (one.name == program) {
            rates.flash = one.rates;
            rates.flash_program = one.name;
            return;
        }
        names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
    throw InputError(
        where, "",
        fmt::format("no rates of {} on {} are known{}", program, gpu.name,
                    names.empty() ? ", nor of another program" : "; there are those of " + names));
}

KernelClock::KernelClock(const GpuProfile& gpu, Precision precision, const KernelRates& rates,
                         std::string_view where)
    : rates_(rates),
      flops_(gpu.peak_flops(precision == Precision::fp8 ? Precision::bf16 : precision)),
      narrow_flops_(precision == Precision::fp8 ? gpu.peak_flops(precision) : 0),
      memory_(gpu.memory_gb_per_s * 1e9 * rates.memory_share),
      l2_(rates.l2_gb_per_s * 1e9),
      bytes_a_value_(value_bytes(precision)),
      is_fp32_(precision == Precision::fp32),
      on_tensor_cores_(!is_fp32_ && gpu.has_tensor_cores()) {
    INVARIANT(rates.multiprocessors > 0 && rates.product_share > 0 && memory_ > 0 && l2_ > 0);
    if (!(gpu.peak_flops(precision) > 0)) {
        throw InputError(where, "",
                         fmt::format("{} has no {} arithmetic", gpu.name,
                                     precision_names[static_cast<std::size_t>(precision)]));
    }
    INVARIANT(!is_fp8() || rates.eight_bit_share > 0);
}

KernelClock::Tiled KernelClock::tiled(const Gemm& gemm, double share,
                                      std::int64_t value_bytes) const {
    const auto blocks_at_once = static_cast<double>(rates_.multiprocessors);
    const double peak = gemm.eight_bits && is_fp8() ? narrow_flops_ : flops_;
    const double flops = peak * share / blocks_at_once;  // of one multiprocessor
    const double l2 = l2_ / blocks_at_once;
    const auto value = static_cast<double>(value_bytes);
    Tiled best;
    for (const Tile& tile : tiles) {
        const std::int64_t blocks =
            rounded_up(gemm.rows, tile.rows) * rounded_up(gemm.columns, tile.columns) * gemm.batch;
        const auto area = static_cast<double>(tile.rows * tile.columns);
        const auto edges = static_cast<double>(tile.rows + tile.columns);
        const auto depth = static_cast<double>(gemm.depth);
        const double tile_s = std::max(2 * area * depth / flops, edges * depth * value / l2);
        for (const std::int64_t split : splits) {
            const bool few = blocks * split <= 2 * rates_.multiprocessors;
            if (split > 1 && (!few || gemm.depth / split < least_depth)) continue;
            const std::int64_t waves = rounded_up(blocks * split, rates_.multiprocessors);
            double seconds = static_cast<double>(waves) * tile_s / static_cast<double>(split);
            double filled = static_cast<double>(blocks) * tile_s / blocks_at_once;
            if (split > 1) {  // partial sums in fp32, written and read
                const auto sums = static_cast<double>(gemm.rows * gemm.columns * gemm.batch);
                const double sums_s = 2 * 4 * static_cast<double>(split) * sums / memory_;
                seconds += sums_s;
                filled += sums_s;
            }
            if (best.seconds == 0 || seconds < best.seconds) best = {seconds, filled};
        }
    }
    return best;
}

KernelSum KernelClock::product_saving(const Gemm& gemm, double saving) const {
    INVARIANT(gemm.rows >= 1 && gemm.columns >= 1 && gemm.depth >= 1 && gemm.batch >= 1);
    const bool eight_bits = gemm.eight_bits && is_fp8();
    const std::int64_t value_bytes = eight_bits ? 1 : bytes_a_value_;
    double share = eight_bits ? rates_.eight_bit_share : rates_.product_share;
    if (is_fp32_) share *= saving;
    if (on_tensor_cores_) share *= alignment_share(gemm.row * value_bytes, rates_.unaligned_share);
    double bytes = gemm.bytes;
    if (bytes == 0) {
        const std::int64_t inputs = (gemm.rows + gemm.columns) * gemm.depth * value_bytes;
        const std::int64_t outputs = gemm.rows * gemm.columns * bytes_a_value_;
        bytes = static_cast<double>(gemm.batch) * static_cast<double>(inputs + outputs);
    }
    const Tiled time = tiled(gemm, share, value_bytes);
    const double moved_s = bytes / memory_;
    return {std::max(time.seconds, moved_s) + rates_.start_s, 1, std::max(time.filled, moved_s)};
}

KernelSum KernelClock::traffic(double bytes) const {
    return {bytes / memory_ + rates_.start_s, 1, bytes / memory_};
}

// Softmax takes as long for a pair of tokens whatever a head has, products as much longer as it has
// more: the inverse of the rate is linear in that of the head. Wider heads are as fast as 128. Each
// block of queries (backward: of keys, as many) has a beginning and an end, and at the mask a tile
// that is computed whole. The last of a sample's blocks has twice the keys of the mean one, and no
// kernel is faster than that block.
KernelSum KernelClock::flash(const FlashAttention& attention, int products, double of_64,
                             double of_128, double bytes) const {
    INVARIANT(attention.batch >= 1 && attention.queries >= 1 && attention.head >= 1);
    constexpr double wide = 128;
    constexpr std::int64_t block = 128;
    const double head = std::min(static_cast<double>(attention.head), wide);
    const double slowness = 1 / of_128 + (1 / of_64 - 1 / of_128) * (wide / head - 1);
    const double share = std::min(1 / slowness, rates_.flash_most);
    const auto batch = static_cast<double>(attention.batch);
    const auto keys = static_cast<double>(attention.keys);
    const double pairs = batch * static_cast<double>(attention.queries) * keys / 2;
    const double flops = 2 * products * pairs * static_cast<double>(attention.head);
    const double filled_s = flops / (flops_ * share) * (1 + rates_.flash.ramp_tokens / keys);
    const double blocks = batch * static_cast<double>(rounded_up(attention.queries, block));
    const double longest = 2 * static_cast<double>(rates_.multiprocessors) / blocks;
    const double moved_s = bytes / memory_;
    return {std::max(filled_s * std::max(1.0, longest), moved_s) + rates_.start_s, 1,
            std::max(filled_s, moved_s)};
}

KernelSum KernelClock::flash_forward(const FlashAttention& attention) const {
    const FlashRates& rates = rates_.flash;
    return flash(attention, 2, rates.forward_64, rates.forward_128, attention.bytes);
}

KernelSum KernelClock::flash_backward(const FlashAttention& attention) const {
    const FlashRates& rates = rates_.flash;
    return flash(attention, 5, rates.backward_64, rates.backward_128, 2 * attention.bytes);
}

KernelSum KernelClock::made_eight_bits(double values, std::int64_t matrices) const {
    if (!is_fp8()) return {};
    const auto kernels_of = [&](double bytes) {
        const double moved_s = bytes / memory_;
        const auto count = static_cast<double>(matrices);
        return KernelSum{moved_s + count * rates_.start_s, matrices, moved_s};
    };
    KernelSum sum = kernels_of((2 + 2) * values);
    if (rates_.scales_blocks) return sum;
    sum += kernels_of(2 * values);  // the greatest
    sum += kernels_of(0);           // the scale
    return sum;
}

}  // namespace ukemi::sim
