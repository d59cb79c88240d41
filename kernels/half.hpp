// half.hpp — IEEE 754 half precision in integer arithmetic: the same bits on every machine.
//
// Rounds to nearest, ties to even, as GPUs and F16C do; what is above 65,504 becomes infinite, what
// is below 2^-25 zero. Also compiled for devices.
#pragma once

#include <bit>
#include <cstdint>

namespace ukemi::kernels {

constexpr std::uint16_t to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16U & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);  // not a number
    if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude >= 0x38800000U) {  // normal: 10 bits of the fraction stay
        const std::uint32_t odd = magnitude >> 13U & 1U;
        return static_cast<std::uint16_t>(sign |
                                          ((magnitude - 0x38000000U + 0x0FFFU + odd) >> 13U));
    }
    if (magnitude <= 0x33000000U) return static_cast<std::uint16_t>(sign);
    // Subnormal: the significand shifted until its unit is 2^-24.
    const std::uint32_t shift = 126U - (magnitude >> 23U);
    const std::uint32_t significand = (magnitude & 0x7FFFFFU) | 0x800000U;
    const std::uint32_t kept = significand >> shift;
    const std::uint32_t rest = significand & ((1U << shift) - 1U);
    const std::uint32_t tie = 1U << (shift - 1U);
    const bool up = rest > tie || (rest == tie && (kept & 1U) != 0);
    return static_cast<std::uint16_t>(sign | (kept + (up ? 1U : 0U)));
}

constexpr float from_half(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) * 0x10000U;
    const std::uint32_t exponent = half >> 10U & 0x1FU;
    const std::uint32_t fraction = half & 0x3FFU;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13U);
    if (exponent == 0) {  // fraction × 2^-24, exact
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112U) << 23U | fraction << 13U);
}

}  // namespace ukemi::kernels
