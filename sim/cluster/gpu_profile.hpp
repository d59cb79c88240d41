// gpu_profile.hpp — what a kind of GPU can do at most, from its data sheet.
//
// Peaks are dense rates (no sparsity) at boost clock; what a training step reaches of them is said
// by a cost curve (cost_curve.hpp) or by kernels (kernel_time.hpp), never here. To add a GPU: one
// entry in gpus.cpp; what is measured of it, in the tables of those two, goes before what its
// `like` has there. One that a scenario describes: described_gpu.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/quantity.hpp"

namespace ukemi::sim {

// The arithmetic of a step: fp16 and bf16 on tensor cores where there are any, else on vectors.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8 };
inline constexpr std::array<std::string_view, 5> precision_names = {"fp32", "tf32", "fp16", "bf16",
                                                                    "fp8"};

struct GpuProfile {
    std::string_view name;                // as in machine tables and scenarios
    std::array<double, 5> peak_tflops{};  // by Precision, 10^12 FLOP/s; 0: it cannot
    Bytes memory;
    double memory_gb_per_s = 0;  // 10^9 bytes/s
    std::uint32_t nvlinks = 0;   // lanes of one GPU
    double nvlink_gb_per_s = 0;  // one lane, one direction
    int pcie_generation = 3;     // of its x16 slot
    std::int64_t multiprocessors = 0;
    std::string_view released;  // year and month
    std::string_view source;
    std::string_view like =
        {};  // the GPU whose kernels' shares it has where none of its own are known

    // Or matrix cores. Without them half precision has twice the rate of fp32 on the same vectors.
    bool has_tensor_cores() const {
        constexpr auto fp32 = static_cast<std::size_t>(Precision::fp32);
        constexpr auto tf32 = static_cast<std::size_t>(Precision::tf32);
        constexpr auto fp16 = static_cast<std::size_t>(Precision::fp16);
        return peak_tflops[tf32] > 0 || peak_tflops[fp16] > 3 * peak_tflops[fp32];
    }
    double peak_flops(Precision precision) const {  // FLOP/s, 0: it cannot
        return peak_tflops[static_cast<std::size_t>(precision)] * 1e12;
    }
};

std::span<const GpuProfile> all_gpus();
// Throws InputError("WHERE: there is no GPU …") with the nearest name.
const GpuProfile& gpu_named(std::string_view name, std::string_view where);
// What `like` names; null where it is empty.
const GpuProfile* gpu_that_is_like(const GpuProfile& gpu);

// The line rate of an x16 slot in one direction: generation 3 has 8 GT/s a lane with 128 of 130
// bits used, each later one twice that (PCI Express base specifications). 3 to 5.
BytesPerSecond pcie_x16_rate(int generation);

}  // namespace ukemi::sim
