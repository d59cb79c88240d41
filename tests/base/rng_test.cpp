// rng_test.cpp — draws that never change, and distributions that are what they say.
//
// Statistical tests run from fixed seeds, so they pass or fail for ever; "5 sigma" is said where a
// bound comes from the standard error of what is estimated.
#include "base/rng.hpp"

#include <Random123/philox.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace ukemi;

namespace {

template <class Value>
std::vector<Value> first_four(const std::function<Value(RandomStream&)>& draw) {
    RandomStream random(7, "golden");
    std::vector<Value> values;
    for (int i = 0; i < 4; ++i) values.push_back(draw(random));
    return values;
}

struct Moments {
    double mean = 0;
    double variance = 0;
};

constexpr int values_drawn = 200'000;

Moments moments_of(const std::function<double(RandomStream&)>& draw) {
    RandomStream random(11, "moments");
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < values_drawn; ++i) {
        const double value = draw(random);
        sum += value;
        squares += value * value;
    }
    const double mean = sum / values_drawn;
    return {mean, squares / values_drawn - mean * mean};
}

// The mean of n draws has variance σ²/n; their variance has σ⁴ (kurtosis − 1)/n.
void check_moments(const Moments& found, double mean, double variance, double kurtosis) {
    CHECK(std::abs(found.mean - mean) < 5 * std::sqrt(variance / values_drawn));
    CHECK(std::abs(found.variance - variance) <
          5 * variance * std::sqrt((kurtosis - 1) / values_drawn));
}

// Draws counted against the probabilities of 0, 1, 2, …; values beyond the last share one cell.
double chi_square(const std::vector<double>& probabilities,
                  const std::function<std::int64_t(RandomStream&)>& draw) {
    RandomStream random(13, "chi-square");
    std::vector<int> counts(probabilities.size() + 1);
    for (int i = 0; i < values_drawn; ++i) {
        const auto value = static_cast<std::size_t>(draw(random));
        ++counts[std::min(value, probabilities.size())];
    }
    double rest = 1;
    double sum = 0;
    for (std::size_t i = 0; i <= probabilities.size(); ++i) {
        const double probability = i < probabilities.size() ? probabilities[i] : rest;
        rest -= probability;
        const double expected = probability * values_drawn;
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

}  // namespace

TEST_CASE("rng: Philox gives its published known answer", "[rng][golden]") {
    // Random123's kat_vectors: philox4x32 10, counter 0, key 0.
    const auto block = r123::Philox4x32{}({}, {});
    CHECK(block[0] == 0x6627E8D5U);
    CHECK(block[1] == 0xE169C58DU);
    CHECK(block[2] == 0xBC57AC4CU);
    CHECK(block[3] == 0x9B00DBD8U);
}

TEST_CASE("rng: a stream's words follow from seed and name by the documented rule",
          "[rng][golden]") {
    // From the definition (FNV-1a, splitmix64's finaliser, Philox), written down anew in Python.
    RandomStream market(7, "market/us-west-2a");
    CHECK(market.bits() == 0x37CD0008F6EEAA5CU);
    CHECK(market.bits() == 0xDBBB6FA049F2620EU);
    CHECK(market.bits() == 0xD9E2B77C525B2395U);  // the second block
    CHECK(market.bits() == 0x19F832E78C03F456U);
    CHECK(RandomStream(0, "").bits() == 0x80FD0D7114B0EFC9U);
}

TEST_CASE("rng: blocks that are drawn together are Random123's, one after the other",
          "[rng][golden]") {
    const auto mix = [](std::uint64_t x) {
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
        return x ^ (x >> 31U);
    };
    const std::uint64_t no_name = 0xCBF29CE484222325U;
    const std::uint64_t key = mix(no_name ^ mix(5 + 0x9E3779B97F4A7C15U));
    RandomStream random(5, "");
    for (std::uint32_t block = 0; block < 1000; ++block) {
        const auto words = r123::Philox4x32{}(
            {{block, 0, 0, 0}},
            {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)}});
        REQUIRE(random.bits() == (std::uint64_t{words[1]} << 32U | words[0]));
        REQUIRE(random.bits() == (std::uint64_t{words[3]} << 32U | words[2]));
    }
}

TEST_CASE("rng: first draws never change", "[rng][golden]") {
    using Integers = std::vector<std::int64_t>;
    using Doubles = std::vector<double>;
    CHECK(first_four<double>([](auto& r) { return r.uniform(); }) ==
          Doubles{0x1.a5814a054f3dp-3, 0x1.144b7de5e8e18p-3, 0x1.a712a222b64a6p-1,
                  0x1.68ea74d4fb1fp-5});
    CHECK(first_four<std::int64_t>([](auto& r) { return r.integer(1, 1000); }) ==
          Integers{206, 135, 827, 45});  // 1 + ⌊1000 u⌋: 205.8, 134.9, 826.3, 44.1
    CHECK(first_four<std::int64_t>([](auto& r) { return r.chance(0.5) ? 1 : 0; }) ==
          Integers{1, 1, 0, 1});
    CHECK(first_four<double>([](auto& r) { return r.exponential(3600); }) ==
          Doubles{0x1.63ad58a53cfe8p+12, 0x1.c2b57451b238bp+12, 0x1.57679a65e0f48p+9,
                  0x1.5f41556e89a8dp+13});
    CHECK(first_four<double>([](auto& r) { return r.normal(10, 2); }) ==
          Doubles{0x1.0b742740a32e5p+3, 0x1.f2c133a8df696p+2, 0x1.7c2407afe71fcp+3,
                  0x1.a5b47695d927ep+2});
    CHECK(first_four<double>([](auto& r) { return r.lognormal(0, 1); }) ==
          Doubles{0x1.c28903d6476bbp-2, 0x1.53ad1c754d73cp-2, 0x1.47943bcfbdb03p+1,
                  0x1.741c17556640dp-3});
    CHECK(first_four<std::int64_t>([](auto& r) { return r.geometric(0.01); }) ==
          Integers{157, 199, 18, 310});
}

TEST_CASE("rng: streams of other names and seeds differ, the same ones agree", "[rng]") {
    std::set<std::uint64_t> words;
    const std::array<std::string, 5> names{"", "a", "b", "aa", "policy/greedy"};
    for (const std::string& name : names) {
        for (const std::uint64_t seed : {0U, 1U, 2U, 0xFFFFFFFFU}) {
            words.insert(RandomStream(seed, name).bits());
            CHECK(RandomStream(seed, name).bits() == RandomStream(seed, name).bits());
        }
    }
    CHECK(words.size() == 20);
}

TEST_CASE("rng: inversion takes one word a draw, so that streams stay in step", "[rng]") {
    const auto next_after = [](const std::function<void(RandomStream&)>& draw) {
        RandomStream random(3, "step");
        draw(random);
        return random.bits();
    };
    const std::uint64_t second = next_after([](auto& r) { r.bits(); });
    CHECK(next_after([](auto& r) { r.uniform(); }) == second);
    CHECK(next_after([](auto& r) { r.chance(1); }) == second);
    CHECK(next_after([](auto& r) { r.exponential(0); }) == second);
    CHECK(next_after([](auto& r) { r.normal(0, 0); }) == second);
    CHECK(next_after([](auto& r) { r.lognormal(0, 1); }) == second);
    CHECK(next_after([](auto& r) { r.geometric(1); }) == second);
}

TEST_CASE("rng: moments are those of the distribution", "[rng][property]") {
    SECTION("uniform: 1/2, 1/12, kurtosis 9/5") {
        check_moments(moments_of([](auto& r) { return r.uniform(); }), 0.5, 1.0 / 12, 1.8);
    }
    SECTION("integer from 1 to 6: 7/2, 35/12, kurtosis 303/175") {
        const auto die = [](auto& r) { return static_cast<double>(r.integer(1, 6)); };
        check_moments(moments_of(die), 3.5, 35.0 / 12, 303.0 / 175);
    }
    SECTION("chance p: p, p (1 − p); at 0.2 kurtosis 13/4") {
        check_moments(moments_of([](auto& r) { return r.chance(0.2) ? 1.0 : 0.0; }), 0.2, 0.16,
                      3.25);
    }
    SECTION("exponential: m, m², kurtosis 9") {
        check_moments(moments_of([](auto& r) { return r.exponential(3); }), 3, 9, 9);
    }
    SECTION("normal: m, s², kurtosis 3") {
        check_moments(moments_of([](auto& r) { return r.normal(-5, 2); }), -5, 4, 3);
    }
    SECTION(
        "lognormal, s = 1/4: e^(s²/2), (e^(s²) − 1) e^(s²), kurtosis w⁴+2w³+3w²−3, w = e^(s²)") {
        const double w = std::exp(1.0 / 16);
        const double kurtosis = w * w * w * w + 2 * w * w * w + 3 * w * w - 3;
        check_moments(moments_of([](auto& r) { return r.lognormal(0, 0.25); }), std::sqrt(w),
                      (w - 1) * w, kurtosis);
    }
    SECTION("geometric: (1 − p)/p, (1 − p)/p², kurtosis 9 + p²/(1 − p)") {
        const auto draw = [](auto& r) { return static_cast<double>(r.geometric(0.25)); };
        check_moments(moments_of(draw), 3, 12, 9 + 0.0625 / 0.75);
    }
}

TEST_CASE("rng: integers and counts follow their probabilities", "[rng][property]") {
    // Chi-square with f degrees of freedom has mean f and variance 2f: 5 sigma above.
    const auto bound = [](std::size_t f) {
        return static_cast<double>(f) + 5 * std::sqrt(2.0 * static_cast<double>(f));
    };
    SECTION("integer") {
        const std::vector<double> nine_of_ten(9, 0.1);
        CHECK(chi_square(nine_of_ten, [](auto& r) { return r.integer(-3, 6) + 3; }) < bound(9));
    }
    SECTION("geometric") {
        std::vector<double> probabilities;
        for (double p = 0.3; p > 0.001; p *= 0.7) probabilities.push_back(p);
        CHECK(chi_square(probabilities, [](auto& r) { return r.geometric(0.3); }) <
              bound(probabilities.size()));
    }
}

TEST_CASE("rng: integers of a range that divides no power of two are equally likely", "[rng]") {
    // Of 3 · 2^62 values, taking the top of draw × count as it comes would give those that 3
    // divides half of all draws.
    constexpr std::uint64_t count = std::uint64_t{3} << 62U;
    constexpr auto last = static_cast<std::int64_t>((std::uint64_t{1} << 63U) + count - 1);
    RandomStream random(5, "test/thirds");
    std::array<int, 3> thirds{};
    for (int draw = 0; draw < 30'000; ++draw) {
        const std::int64_t value = random.integer(INT64_MIN, last);
        ++thirds.at((static_cast<std::uint64_t>(value) - (std::uint64_t{1} << 63U)) % 3);
    }
    for (const int third : thirds) CHECK(std::abs(third - 10'000) < 500);
}

TEST_CASE("rng: the ends of the ranges", "[rng]") {
    RandomStream random(5, "ends");
    CHECK(random.integer(42, 42) == 42);
    bool negative = false;
    for (int i = 0; i < 64; ++i) negative = negative || random.integer(INT64_MIN, INT64_MAX) < 0;
    CHECK(negative);
    for (int i = 0; i < 1'000; ++i) {
        // Three quarters of 2^64 values: a quarter of the words must be drawn again.
        CHECK(random.integer(INT64_MIN, INT64_MAX / 2) <= INT64_MAX / 2);
        CHECK_FALSE(random.chance(0));
        CHECK(random.chance(1));
        CHECK(random.geometric(1) == 0);
        CHECK(random.geometric(1e-300) == std::int64_t{1} << 62U);
        CHECK(random.exponential(0) == 0);
        CHECK(random.normal(3, 0) == 3);
    }
}

TEST_CASE("rng: the normal quantile is right to 15 digits", "[rng]") {
    // Φ⁻¹ from 200-bit arithmetic. Symmetric by construction.
    CHECK(normal_quantile(0.5) == 0);
    CHECK(normal_quantile(0.975) == Approx(1.9599639845400538556).epsilon(1e-15));
    CHECK(normal_quantile(0.93) == Approx(1.475791028179171099).epsilon(1e-15));
    CHECK(normal_quantile(0.3) == Approx(-0.52440051270804081597).epsilon(1e-15));
    CHECK(normal_quantile(0.001) == Approx(-3.0902323061678135354).epsilon(1e-15));
    CHECK(normal_quantile(1e-15) == Approx(-7.9413453261709967713).epsilon(1e-15));
    CHECK(normal_quantile(0.25) == -normal_quantile(0.75));
}
