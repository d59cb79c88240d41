// gradient_monitors_test.cpp — noise of one worker and variance of many, against known noise.
#include "kernels/gradient_monitors.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

TEST_CASE("consecutive noise: the product of two gradients and their distance",
          "[gradient_noise][golden]") {
    ConsecutiveNoise noise;
    CHECK_FALSE(noise.add(std::vector<float>{1, 2}, 8));
    const auto sample = noise.add(std::vector<float>{3, -1}, 8);
    REQUIRE(sample);
    CHECK(sample->squared_norm == Approx(1 * 3 - 2));              // g · g'
    CHECK(sample->covariance_trace == Approx(8 * (4 + 9) / 2.0));  // b |g − g'|² ÷ 2
    CHECK_FALSE(noise.add(std::vector<float>{3, -1}, 16));         // another batch
    CHECK_FALSE(noise.add(std::vector<float>{3, -1, 2}, 16));      // another model
    CHECK(noise.add(std::vector<float>{3, -1, 2}, 16));
    noise.forget();
    CHECK_FALSE(noise.add(std::vector<float>{3, -1, 2}, 16));
}

TEST_CASE("consecutive noise: unbiased while the true gradient stays",
          "[gradient_noise][property]") {
    // |G|² = 4 in one of 10 dimensions, tr Σ = 10 · 9, batches of 5.
    RandomStream random(3, "gradient_monitors");
    ConsecutiveNoise noise;
    constexpr int trials = 20'000;
    double norm = 0;
    double trace = 0;
    for (int trial = 0; trial <= trials; ++trial) {
        std::vector<float> gradient(10);
        for (std::size_t i = 0; i < 10; ++i) {
            gradient[i] = static_cast<float>(random.normal(i == 0 ? 2 : 0, 3 / std::sqrt(5.0)));
        }
        if (const auto sample = noise.add(gradient, 5)) {
            norm += sample->squared_norm / trials;
            trace += sample->covariance_trace / trials;
        }
    }
    CHECK(norm == Approx(4).margin(0.2));    // standard error 0.05
    CHECK(trace == Approx(90).margin(1.5));  // standard error 0.35
}

TEST_CASE("gradient variance: KungFu's norm of the elements' variances",
          "[gradient_noise][golden]") {
    // Elements (1, 3) and (0, 4) of two workers: variances 1 and 4.
    const std::vector<float> a{1, 0};
    const std::vector<float> b{3, 4};
    CHECK(variance_norm(std::vector<std::span<const float>>{a, b}) == Approx(std::sqrt(17.0)));
    CHECK(variance_norm(std::vector<float>{2, 2}, std::vector<float>{5, 8}) ==
          Approx(std::sqrt(17.0)));
    CHECK(variance_norm(std::vector<std::span<const float>>{a, a}) == 0);
}
