// kernel_time.hpp — how long a GPU takes for one kernel: a matrix product by its shape, or bytes.
//
// A product of m x n from a depth of k is cut into tiles, one block of threads each; blocks run in
// waves of one on each streaming multiprocessor (SM), and the last wave is as long as a full one.
// A tile takes as long as its arithmetic at the GPU's achievable rate, or as its rows and columns
// on their way from the L2 cache, whichever is longer; deep products of few tiles are split along
// k. The fastest of the usual tiles counts, and no product is faster than its matrices in memory
// (tiles and waves: NVIDIA, "Matrix Multiplication Background User's Guide"). Everything else is
// bounded by memory. Flash attention has rates of its own, since its softmax is no product. In fp8,
// only products with the weights of blocks have inputs of eight bits; attention, the logits and
// values otherwise are bf16, as in programs that train so (NVIDIA/TransformerEngine). Inputs are
// made eight bits as they are and transposed: with one scale a matrix in three kernels (its
// greatest value, the scale, the values), with one for each 32 values in one (Micikevicius et al.
// 2022; OCP Microscaling, 2023: GPUs from Blackwell on). On + − × ÷ only, so that times are equal
// on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/cluster/gpu_profile.hpp"

namespace ukemi::sim {

// What flash attention reaches of the peak on long sequences, by what a head has: 64 numbers or
// 128.
struct FlashRates {
    double forward_64 = 0;
    double forward_128 = 0;
    double backward_64 = 0;
    double backward_128 = 0;
    double ramp_tokens = 0;  // a masked sequence of as many reaches half of that
};

// What kernels reach of a GPU's peaks. Where each default is from: kernel_time.cpp.
struct KernelRates {
    std::int64_t multiprocessors = 0;
    double l2_gb_per_s = 0;
    double product_share = 0;    // of the peak, by a large product
    double eight_bit_share = 0;  // of fp8's, by one whose inputs have eight bits
    double unaligned_share = 0;  // of that on tensor cores, where rows begin at odd values
    double memory_share = 0;     // of the memory's rate
    double start_s = 0;          // of a kernel on the device
    double launch_s = 0;         // what the host needs for one
    bool scales_blocks = false;  // eight bits have a scale for each 32 values
    std::string source;
    FlashRates flash;
    std::string_view flash_program;  // whose rates these are; empty: of none of flash_names
    double flash_most = 1;           // of the peak, whatever the program's rates are
};
// With the best program of flash attention that is known: of the GPU itself, or of the one that it
// is like. InputError(WHERE …) if nothing is known of either.
KernelRates known_kernel_rates(const GpuProfile& gpu, std::string_view where);

inline constexpr std::array<std::string_view, 6> flash_names = {
    "flash_1", "flash_2", "flash_3", "flash_4", "cudnn_9_13", "cudnn_9_17"};
// Another of them in its place. InputError(WHERE …) if its rates on this GPU are not known.
void choose_flash(KernelRates& rates, const GpuProfile& gpu, std::string_view program,
                  std::string_view where);

struct Gemm {
    std::int64_t rows = 0;     // m
    std::int64_t columns = 0;  // n
    std::int64_t depth = 0;    // k
    std::int64_t batch = 1;    // so many of them in one kernel
    double bytes = 0;          // that it moves; 0: each of its three matrices once
    std::int64_t row = 0;      // values in a row of what is not laid out along k; 0: aligned
    bool eight_bits = false;   // of its inputs, where the precision is fp8; else bf16 there
};

// One kernel of flash attention, with a causal mask: half of all pairs of tokens.
struct FlashAttention {
    std::int64_t batch = 0;  // samples times heads
    std::int64_t queries = 0;
    std::int64_t keys = 0;  // of the whole sequence
    std::int64_t head = 0;
    double bytes = 0;  // that the forward kernel moves; the backward one twice as many
};

// Kernels one after another: what they take on the device, and how many the host launches. And what
// they take of a device that others share: where a kernel's last wave leaves multiprocessors free,
// or it has fewer blocks than there are, blocks of others compute there; nobody waits for its
// start.
struct KernelSum {
    double device_s = 0;
    std::int64_t launches = 0;
    double shared_s = 0;  // at most device_s
    KernelSum& operator+=(const KernelSum& other) {
        device_s += other.device_s;
        launches += other.launches;
        shared_s += other.shared_s;
        return *this;
    }
};

class KernelClock {
public:
    // InputError(WHERE …) if the GPU cannot compute at this precision.
    KernelClock(const GpuProfile& gpu, Precision precision, const KernelRates& rates,
                std::string_view where);

    KernelSum product(const Gemm& gemm) const { return product_saving(gemm, 1); }
    // In fp32 with so many times fewer multiplications (LayerCost::fp32_saving).
    KernelSum product_saving(const Gemm& gemm, double saving) const;
    KernelSum traffic(double bytes) const;
    // Two products of every pair forward, five backward (Dao 2023, FlashAttention-2).
    KernelSum flash_forward(const FlashAttention& attention) const;
    KernelSum flash_backward(const FlashAttention& attention) const;
    // In fp8: so many values that so many matrices have together; else nothing.
    KernelSum made_eight_bits(double values, std::int64_t matrices = 1) const;
    double launch_seconds() const { return rates_.launch_s; }
    std::int64_t bytes_a_value() const { return bytes_a_value_; }
    bool is_fp8() const { return narrow_flops_ > 0; }

private:
    struct Tiled {
        double seconds = 0;  // alone
        double filled = 0;   // of these, with a block on every multiprocessor
    };
    Tiled tiled(const Gemm& gemm, double share, std::int64_t value_bytes) const;
    KernelSum flash(const FlashAttention& attention, int products, double of_64, double of_128,
                    double bytes) const;

    KernelRates rates_;
    double flops_ = 0;         // of the GPU
    double narrow_flops_ = 0;  // of products of eight bits; 0: there are none
    double memory_ = 0;        // bytes/s
    double l2_ = 0;
    std::int64_t bytes_a_value_ = 4;
    bool is_fp32_ = true;
    bool on_tensor_cores_ = false;
};

}  // namespace ukemi::sim
