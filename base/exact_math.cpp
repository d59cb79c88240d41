// exact_math.cpp — textbook reductions and Taylor series, carried in pairs of doubles where one is
// not enough.
//
// A Pair is an unevaluated sum of two doubles, about 106 bits. Its building blocks (Dekker 1971,
// Knuth) use only correctly rounded + − ×, which IEEE 754 defines to the last bit;
// -ffp-contract=off keeps the compiler from fusing them. The constants were computed with 400 bits.
#include "base/exact_math.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/invariant.hpp"

namespace ukemi::exact {
namespace {

// A logarithm is a chain of these: called, each would wait for the one before to return.
#define UKEMI_INLINE [[gnu::always_inline]] inline

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Pair {
    double high = 0;
    double low = 0;  // at most half a last place of `high`
};

UKEMI_INLINE Pair two_sum(double a, double b) {
    const double sum = a + b;
    const double b_part = sum - a;
    const double a_part = sum - b_part;
    return {sum, (a - a_part) + (b - b_part)};
}

UKEMI_INLINE Pair fast_two_sum(double larger,
                               double smaller) {  // |larger| ≥ |smaller|, or larger is 0
    const double sum = larger + smaller;
    return {sum, smaller - (sum - larger)};
}

UKEMI_INLINE Pair split(double a) {  // into two halves of at most 26 bits; |a| < 2^996
    const double scaled = 0x1p27 * a + a;
    const double high = scaled - (scaled - a);
    return {high, a - high};
}

UKEMI_INLINE Pair two_product(double a, double b) {
    const double product = a * b;
    const auto [a_high, a_low] = split(a);
    const auto [b_high, b_low] = split(b);
    const double error = a_high * b_high - product + a_high * b_low + a_low * b_high;
    return {product, error + a_low * b_low};
}

UKEMI_INLINE Pair operator+(Pair a, Pair b) {
    const Pair sum = two_sum(a.high, b.high);
    return fast_two_sum(sum.high, sum.low + (a.low + b.low));
}

UKEMI_INLINE Pair operator*(Pair a, Pair b) {
    const Pair product = two_product(a.high, b.high);
    return fast_two_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

UKEMI_INLINE Pair operator/(Pair a, Pair b) {
    const double first = a.high / b.high;
    const Pair back = b * Pair{first, 0};
    const Pair rest = a + Pair{-back.high, -back.low};
    return fast_two_sum(first, (rest.high + rest.low) / b.high);
}

// 2^exponent for exponents of normal numbers.
double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52U);
}

// value × 2^exponent, rounded once more only where the result is subnormal.
double scaled(double value, int exponent) {
    while (exponent > 1023) {
        value *= 0x1p1023;
        exponent -= 1023;
    }
    // In one step from a normal number to a subnormal one, or it would be rounded twice.
    if (exponent < -1022) {
        value *= 0x1p-969;
        exponent += 969;
    }
    return value * power_of_two(exponent);
}

// The nearest integer, halves away from zero; |x| < 2^31.
int nearest(double x) { return static_cast<int>(x < 0 ? x - 0.5 : x + 0.5); }

// log 2 and π/2 in pieces that end in zeros, so that small integers times a piece are exact.
constexpr double log2_high = 0x1.62e42fefa38p-1;  // 42 bits
constexpr double log2_low = 0x1.ef35793c7673p-45;
constexpr double log2_inverse = 0x1.71547652b82fep+0;
constexpr std::array<double, 5> half_pi{0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                        0x1.b839a252p-104, 0x1.27044533p-142};  // 33 bits each
constexpr double half_pi_inverse = 0x1.45f306dc9c883p-1;

// 1 / n!; the factorials to 22! are exact doubles.
constexpr auto inverse_factorials = [] {
    std::array<double, 21> inverse{};
    double factorial = 1;
    for (std::size_t n = 0; n < inverse.size(); ++n) {
        if (n > 1) factorial *= static_cast<double>(n);
        inverse[n] = 1 / factorial;
    }
    return inverse;
}();

// e^(x.high + x.low) = 2^k e^r with |r| ≤ log(2)/2; |x| ≤ 1100.
double exp_of(Pair x) {
    const int k = nearest(x.high * log2_inverse);
    // Both the product (11 + 42 bits) and the difference are exact.
    const Pair r = two_sum(x.high - k * log2_high, x.low - k * log2_low);
    // e^r = 1 + r + r² (1/2! + r/3! + …): r^15/15! is below 2^-63.
    double tail = inverse_factorials[14];
    for (std::size_t n = 13; n >= 2; --n) tail = tail * r.high + inverse_factorials[n];
    tail = tail * r.high * r.high + (r.low + r.low * r.high);
    const Pair sum = fast_two_sum(1, r.high);
    return scaled(sum.high + (sum.low + tail), k);
}

// log(x) for normal and subnormal x > 0, to about 2^-70 of its value.
Pair log_of(double x) {
    int exponent = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        exponent = -54;
    }
    // x = 2^exponent × m with m from √½ to √2.
    const auto bits = std::bit_cast<std::uint64_t>(x);
    constexpr std::uint64_t fraction_mask = (std::uint64_t{1} << 52U) - 1;
    exponent += static_cast<int>(bits >> 52U) - 1023;
    double m = std::bit_cast<double>((bits & fraction_mask) | (std::uint64_t{1023} << 52U));
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        ++exponent;
    }
    // log m = 2 (s + s³/3 + s⁵/5 + …) with s = (m − 1)/(m + 1), |s| ≤ 0.172. The terms from s⁹/9 on
    // are small enough for one double; s²⁹/29 is below 2^-70 s.
    const Pair s = Pair{m - 1, 0} / two_sum(m, 1);
    const Pair square = s * s;
    double tail = 1.0 / 29;
    for (int n = 27; n >= 9; n -= 2) tail = tail * square.high + 1.0 / n;
    Pair series =
        square * Pair{tail, 0} + Pair{0x1.2492492492492p-3, 0x1.2492492492492p-57};  // 1/7
    series = square * series + Pair{0x1.999999999999ap-3, -0x1.999999999999ap-57};   // 1/5
    series = square * series + Pair{0x1.5555555555555p-2, 0x1.5555555555555p-56};    // 1/3
    const Pair product = s * (square * series);
    const Pair log_m = Pair{2 * s.high, 2 * s.low} + Pair{2 * product.high, 2 * product.low};
    if (exponent == 0) return log_m;
    return fast_two_sum(exponent * log2_high, exponent * log2_low) + log_m;
}

// sin and cos of r.high + r.low, |r| ≤ π/4; the terms left out are below 2^-62.
double sin_kernel(Pair r) {
    const double square = r.high * r.high;
    double tail = inverse_factorials[19];
    for (std::size_t n = 17; n >= 3; n -= 2) tail = inverse_factorials[n] - square * tail;
    return r.high + (r.low * (1 - square / 2) - r.high * square * tail);
}

double cos_kernel(Pair r) {
    const double square = r.high * r.high;
    double tail = inverse_factorials[18];
    for (std::size_t n = 16; n >= 4; n -= 2) tail = inverse_factorials[n] - square * tail;
    const Pair start = fast_two_sum(1, -square / 2);
    return start.high + (start.low + (square * square * tail - r.high * r.low));
}

}  // namespace

double exp(double x) {
    if (std::isnan(x)) return x;
    if (x > 710) return infinity;
    if (x < -746) return 0;
    return exp_of({x, 0});
}

double log(double x) {
    if (std::isnan(x) || x == infinity) return x;
    if (x == 0) return -infinity;
    if (x < 0) return not_a_number;
    return log_of(x).high;
}

double log1p(double x) {
    if (std::isnan(x) || x == infinity) return x;
    if (x == -1) return -infinity;
    if (x < -1) return not_a_number;
    if (std::abs(x) < 0x1p-54) return x;
    const Pair sum = two_sum(1, x);
    // log(h + l) = log h + l/h − …: the next term is below 2^-54 of the sum.
    return (log_of(sum.high) + Pair{sum.low / sum.high, 0}).high;
}

double pow(double base, double exponent) {
    if (exponent == 0 || base == 1) return 1;
    if (std::isnan(base) || std::isnan(exponent)) return not_a_number;
    INVARIANT(base >= 0);
    const bool grows = (base > 1) == (exponent > 0);
    if (base == 0 || base == infinity || std::abs(exponent) > 0x1p64) {
        // |log base| ≥ 2^-54 otherwise, so that so large an exponent decides alone.
        return grows ? infinity : 0;
    }
    const Pair logarithm = log_of(base);
    const double estimate = exponent * logarithm.high;
    if (estimate > 710) return infinity;
    if (estimate < -746) return 0;
    if (std::abs(estimate) < 0x1p-60) return 1 + estimate;
    return exp_of(Pair{exponent, 0} * logarithm);
}

double sin(double x) {
    if (std::isnan(x) || std::abs(x) == infinity) return not_a_number;
    INVARIANT(std::abs(x) <= 0x1p20);
    if (std::abs(x) < 0x1p-27) return x;  // x³/6 is below half a last place
    const int k = nearest(x * half_pi_inverse);
    // k has 20 bits, a piece 33: the products are exact. Where the difference cancels, its rounding
    // error is zero, so that r keeps its bits however near x is to a multiple of π/2.
    Pair r{x, 0};
    for (const double piece : half_pi) {
        const Pair difference = two_sum(r.high, -k * piece);
        r = {difference.high, r.low + difference.low};
    }
    r = fast_two_sum(r.high, r.low);
    switch (k & 3) {  // of a negative k too, in two's complement
        case 0: return sin_kernel(r);
        case 1: return cos_kernel(r);
        case 2: return -sin_kernel(r);
        default: return -cos_kernel(r);
    }
}

}  // namespace ukemi::exact
