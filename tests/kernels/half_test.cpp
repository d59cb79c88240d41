// half_test.cpp — half precision: every half back and forth, and the rounding of what lies between.
#include "kernels/half.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

// By the definition: sign, exponent, fraction.
double value_of(std::uint16_t half) {
    const int exponent = half >> 10 & 31;
    const int fraction = half & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("half: every half is a float and comes back as itself", "[half][property]") {
    std::int64_t wrong = 0;
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const bool finite = (bits >> 10U & 31U) != 31;
        if (finite && static_cast<double>(from_half(half)) != value_of(half)) ++wrong;
        const bool not_a_number = !finite && (bits & 0x3FFU) != 0;
        if (not_a_number ? !std::isnan(from_half(half)) : to_half(from_half(half)) != half) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(std::signbit(from_half(0x8000)));
}

TEST_CASE("half: between two halves the nearer is taken, the even one of equals",
          "[half][property]") {
    std::int64_t wrong = 0;
    RandomStream random(5, "half");
    for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
        const auto below = static_cast<std::uint16_t>(bits);
        const auto above = static_cast<std::uint16_t>(bits + 1);
        const double middle = (value_of(below) + value_of(above)) / 2;  // exact in single too
        const std::uint16_t even = bits % 2 == 0 ? below : above;
        const auto at = static_cast<float>(middle);
        const float infinite = std::numeric_limits<float>::infinity();
        if (to_half(at) != even) ++wrong;
        if (to_half(std::nextafter(at, 0.0F)) != below) ++wrong;
        if (to_half(std::nextafter(at, infinite)) != above) ++wrong;
        if (to_half(-at) != (even | 0x8000)) ++wrong;
        const double share = random.uniform();
        const double anywhere = value_of(below) + share * (value_of(above) - value_of(below));
        const auto single = static_cast<float>(anywhere);
        const auto exact = static_cast<double>(single);
        const std::uint16_t nearer = exact < middle ? below : exact > middle ? above : even;
        if (to_half(single) != nearer) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("half: too large is infinite, and what is no number stays none", "[half]") {
    CHECK(from_half(to_half(65'504.0F)) == 65'504.0F);
    CHECK(from_half(to_half(65'519.0F)) == 65'504.0F);
    CHECK(std::isinf(from_half(to_half(65'520.0F))));
    CHECK(from_half(to_half(-1e30F)) == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(from_half(to_half(std::numeric_limits<float>::quiet_NaN()))));
    CHECK(to_half(1e-30F) == 0);
    CHECK(to_half(-1e-30F) == 0x8000);
}
