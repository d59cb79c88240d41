// exact_math_test.cpp — our functions against libm in 80 bits, and against themselves bit for bit.
//
// x86-64's long double carries 11 more bits than a double, so that libm's own error there, about
// one of its last places, is 2^-11 of ours. The arguments are random bits from a fixed seed.
#include "base/exact_math.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/rng.hpp"

using namespace ukemi;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int draws = 200'000;

// |computed − truth| in last places of a double of that size; huge if only one of them is finite.
double error_ulp(double computed, long double truth) {
    const auto rounded = static_cast<double>(truth);
    if (std::isinf(rounded) || std::isinf(computed)) {
        // The largest double and infinity are neighbours.
        const double other = std::isinf(rounded) ? computed : rounded;
        return std::abs(other) >= std::numeric_limits<double>::max() ? 0 : 1e9;
    }
    const int exponent = std::max(std::ilogb(rounded == 0 ? 0x1p-1074 : rounded), -1022);
    return static_cast<double>(std::abs(static_cast<long double>(computed) - truth) /
                               std::ldexp(1.0L, exponent - 52));
}

// Finite doubles of every size, positive.
double any_positive(RandomStream& random) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(
        random.integer(1, std::bit_cast<std::int64_t>(std::numeric_limits<double>::max()))));
}

double between(RandomStream& random, double low, double high) {
    return low + (high - low) * random.uniform();
}

}  // namespace

TEST_CASE("exact math: exp is within 2 last places of the truth", "[exact_math][property]") {
    RandomStream random(1, "exp");
    double worst = 0;
    const auto look_at = [&](double x) {
        const double error = error_ulp(exact::exp(x), std::exp(static_cast<long double>(x)));
        if (error > 2) FAIL("exp(" << x << ") is off by " << error);
        worst = std::max(worst, error);
    };
    for (int i = 0; i < draws; ++i) {
        look_at(between(random, -750, 711));
        look_at(between(random, -1, 1));
        const double tiny = any_positive(random);
        if (tiny < 700) look_at(i % 2 == 0 ? tiny : -tiny);
    }
    // The neighbourhood of k log 2, where the reduced argument changes its sign or jumps.
    for (int half_k = -2148; half_k <= 2047; ++half_k) {
        double x = half_k * 0.5 * 0x1.62e42fefa39efp-1;
        for (int i = 0; i < 3; ++i, x = std::nextafter(x, infinity)) look_at(x);
    }
    CHECK(worst <= 2);
    CHECK(worst >= 0.49);  // the measure measures: rounding alone is off by half a place
}

TEST_CASE("exact math: log and log1p are within 2 last places of the truth",
          "[exact_math][property]") {
    RandomStream random(2, "log");
    double worst = 0;
    const auto look_at = [&](double x) {
        const double error = error_ulp(exact::log(x), std::log(static_cast<long double>(x)));
        if (error > 2) FAIL("log(" << x << ") is off by " << error);
        worst = std::max(worst, error);
    };
    const auto look_at_1p = [&](double x) {
        const double error = error_ulp(exact::log1p(x), std::log1p(static_cast<long double>(x)));
        if (error > 2) FAIL("log1p(" << x << ") is off by " << error);
        worst = std::max(worst, error);
    };
    for (int i = 0; i < draws; ++i) {
        look_at(any_positive(random));
        look_at(between(random, 0.5, 2));
        look_at_1p(any_positive(random));
        look_at_1p(between(random, -1, 1));
        look_at_1p((i % 2 == 0 ? 1 : -1) * std::ldexp(random.uniform(), -i % 60));
    }
    // Around 1, where log crosses zero, and around √2, where the reduction jumps.
    for (const double centre : {1.0, 0x1.6a09e667f3bcdp+0, 0x1.6a09e667f3bcdp-1}) {
        double above = centre;
        double below = centre;
        for (int i = 0; i < 2'000; ++i) {
            look_at(above = std::nextafter(above, 9));
            look_at(below = std::nextafter(below, 0));
        }
    }
    CHECK(worst <= 2);
    CHECK(worst >= 0.49);
}

TEST_CASE("exact math: pow is within 2 last places of the truth", "[exact_math][property]") {
    RandomStream random(3, "pow");
    double worst = 0;
    const auto look_at = [&](double base, double exponent) {
        const long double truth =
            std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
        const double error = error_ulp(exact::pow(base, exponent), truth);
        if (error > 2) FAIL("pow(" << base << ", " << exponent << ") is off by " << error);
        worst = std::max(worst, error);
    };
    for (int i = 0; i < draws; ++i) {
        look_at(any_positive(random), between(random, -1.05, 1.05));  // the whole range of results
        look_at(between(random, 0, 10), between(random, -20, 20));
        look_at(1 + std::ldexp(random.uniform() - 0.5, -i % 50),
                std::ldexp(random.uniform() - 0.5, i % 62));
    }
    CHECK(worst <= 2);
    CHECK(worst >= 0.49);
}

TEST_CASE("exact math: sin is within 2 last places of the truth", "[exact_math][property]") {
    RandomStream random(4, "sin");
    double worst = 0;
    const auto look_at = [&](double x) {
        const double error = error_ulp(exact::sin(x), std::sin(static_cast<long double>(x)));
        if (error > 2) FAIL("sin(" << x << ") is off by " << error);
        worst = std::max(worst, error);
    };
    for (int i = 0; i < draws; ++i) {
        look_at(between(random, -10, 10));
        look_at(between(random, -0x1p20, 0x1p20));
        const double tiny = any_positive(random);
        if (tiny < 0x1p20) look_at(i % 2 == 0 ? tiny : -tiny);
    }
    // Next to multiples of π/2: the argument cancels, and nothing but low bits are left.
    for (int k = 1; k < 600'000; k += 97) look_at(k * 0x1.921fb54442d18p+0);
    CHECK(worst <= 2);
    CHECK(worst >= 0.49);
}

TEST_CASE("exact math: these bits never change", "[exact_math][golden]") {
    // The nearest doubles to the true values, from 300-bit arithmetic elsewhere. Another value
    // here, even one last place away, would change recorded results.
    CHECK(exact::exp(1) == 0x1.5bf0a8b145769p+1);
    CHECK(exact::exp(-1) == 0x1.78b56362cef38p-2);
    CHECK(exact::exp(0.1) == 0x1.1aec7b35a00d4p+0);
    CHECK(exact::exp(700) == 0x1.d945df4f8ec8ep+1009);
    CHECK(exact::exp(-740) == 0x0.0000000000055p-1022);
    CHECK(exact::log(2) == 0x1.62e42fefa39efp-1);
    CHECK(exact::log(10) == 0x1.26bb1bbb55516p+1);
    CHECK(exact::log(0.1) == -0x1.26bb1bbb55515p+1);
    CHECK(exact::log(1e-320) == -0x1.7069e3078e52dp+9);
    CHECK(exact::log(1 + 0x1p-52) == 0x1.fffffffffffffp-53);
    CHECK(exact::log1p(1e-10) == 0x1.b7cdfd9d1d693p-34);
    CHECK(exact::log1p(-0.5) == -0x1.62e42fefa39efp-1);
    CHECK(exact::pow(2, 0.5) == 0x1.6a09e667f3bcdp+0);
    CHECK(exact::pow(10, -3) == 0x1.0624dd2f1a9fcp-10);
    CHECK(exact::pow(1.1, 7.3) == 0x1.00abbdb22bbdfp+1);
    CHECK(exact::pow(1e-5, 0.3) == 0x1.030dc4ea03a73p-5);
    CHECK(exact::pow(0.999999, 1e6) == 0x1.78b5570a90a47p-2);
    CHECK(exact::sin(1) == 0x1.aed548f090ceep-1);
    CHECK(exact::sin(3) == 0x1.210386db6d55bp-3);
    CHECK(exact::sin(1e6) == -0x1.6664b2568d867p-2);
    CHECK(exact::sin(-0.5) == -0x1.eaee8744b05fp-2);
}

TEST_CASE("exact math: exact powers come out exact", "[exact_math]") {
    // Within less than half a last place before rounding, a representable result is hit.
    for (int n = -300; n <= 300; ++n) CHECK(exact::pow(2, n) == std::ldexp(1.0, n));
    double power = 1;
    for (int n = 0; n <= 22; ++n, power *= 10) CHECK(exact::pow(10, n) == power);  // 10^22 is exact
    for (int n = 0; n <= 1'000; ++n) CHECK(exact::pow(n, 2) == n * n);
    for (int n = 0; n <= 1'000; ++n) CHECK(exact::pow(n * n, 0.5) == n);
    CHECK(exact::exp(0) == 1);
    CHECK(exact::log(1) == 0);
    CHECK(exact::sin(0) == 0);
}

TEST_CASE("exact math: the ends of the range are those of C", "[exact_math]") {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const double smallest = 0x1p-1074;
    const double largest = std::numeric_limits<double>::max();
    SECTION("exp") {
        CHECK(exact::exp(710) == infinity);
        CHECK(exact::exp(infinity) == infinity);
        CHECK(exact::exp(-infinity) == 0);
        CHECK(exact::exp(-746) == 0);
        CHECK(exact::exp(-745) == smallest);  // e^-745 = 1.01 × 2^-1074
        CHECK(exact::exp(largest) == infinity);
        CHECK(exact::exp(smallest) == 1);
        CHECK(std::isnan(exact::exp(none)));
    }
    SECTION("log") {
        CHECK(exact::log(0) == -infinity);
        CHECK(exact::log(-0.0) == -infinity);
        CHECK(exact::log(infinity) == infinity);
        CHECK(std::isnan(exact::log(-1)));
        CHECK(std::isnan(exact::log(none)));
        CHECK(exact::log1p(-1) == -infinity);
        CHECK(exact::log1p(infinity) == infinity);
        CHECK(exact::log1p(smallest) == smallest);
        CHECK(std::isnan(exact::log1p(-1.5)));
        CHECK(std::isnan(exact::log1p(none)));
    }
    SECTION("pow") {
        CHECK(exact::pow(0, 2) == 0);
        CHECK(exact::pow(0, -2) == infinity);
        CHECK(exact::pow(0, 0) == 1);
        CHECK(exact::pow(none, 0) == 1);
        CHECK(exact::pow(1, none) == 1);
        CHECK(std::isnan(exact::pow(2, none)));
        CHECK(std::isnan(exact::pow(none, 2)));
        CHECK(exact::pow(infinity, 0.5) == infinity);
        CHECK(exact::pow(infinity, -0.5) == 0);
        CHECK(exact::pow(2, infinity) == infinity);
        CHECK(exact::pow(2, -infinity) == 0);
        CHECK(exact::pow(0.5, infinity) == 0);
        CHECK(exact::pow(0.5, -infinity) == infinity);
        CHECK(exact::pow(2, 1024) == infinity);
        CHECK(exact::pow(2, -1074) == smallest);
        CHECK(exact::pow(2, -1076) == 0);
        CHECK(exact::pow(1 + 0x1p-52, largest) == infinity);
        CHECK(exact::pow(1 - 0x1p-53, largest) == 0);
        CHECK(exact::pow(largest, smallest) == 1);
    }
    SECTION("sin") {
        CHECK(std::isnan(exact::sin(infinity)));
        CHECK(std::isnan(exact::sin(none)));
        CHECK(std::signbit(exact::sin(-0.0)));
        CHECK(exact::sin(smallest) == smallest);
        CHECK(exact::sin(-1) == -exact::sin(1));
        // x is the double nearest to π: sin(x) = sin(π − x) = π − x, which 160 bits of π give.
        CHECK(exact::sin(0x1.921fb54442d18p+1) == 0x1.1a62633145c07p-53);
    }
}
