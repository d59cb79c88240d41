// gradient_noise_test.cpp — the estimators against published values and against a known noise.
#include "kernels/gradient_noise.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "kernels/setting_ranges.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

TEST_CASE("gradient noise: KungFu's golden vector", "[gradient_noise][golden]") {
    const NoiseSample first = noise_of_two_batches(32, 128, 0.10, 0.04);
    CHECK(first.squared_norm == Approx(0.02));
    CHECK(first.covariance_trace == Approx(2.56));
    // Its averages begin at their first values. Ours correct for that: see below.
    const double no_cap = std::numeric_limits<double>::infinity();
    ClippedAverage norm(noise_smoothing_kungfu, no_cap);
    ClippedAverage trace(noise_smoothing_kungfu, no_cap);
    CHECK(trace.add(first.covariance_trace) / norm.add(first.squared_norm) == Approx(128));
    CHECK(trace.add(2.0) == Approx(2.504));
    CHECK(norm.add(0.03) == Approx(0.021));
    CHECK(*trace.value() / *norm.value() == Approx(119.238).margin(0.0005));
}

TEST_CASE("gradient noise: a sample's weight is its age's, the first one's too",
          "[gradient_noise]") {
    const double smoothing = GENERATE(0.0, 0.6, 0.9, 0.99, noise_smoothing_range.most);
    CAPTURE(smoothing);
    RandomStream random(1, "noise_averages");
    NoiseAverages averages;
    CHECK_FALSE(averages.noise_scale());
    long double norm = 0;
    long double trace = 0;
    long double weights = 0;
    for (int step = 0; step < 400; ++step) {
        // Steep and quiet at first, as training begins: what begins there takes long to forget.
        const NoiseSample sample{(step < 3 ? 100 : 1) + random.uniform(), 50 + random.uniform()};
        averages.add(sample, smoothing);
        norm = norm * static_cast<long double>(smoothing) + sample.squared_norm;
        trace = trace * static_cast<long double>(smoothing) + sample.covariance_trace;
        weights = weights * static_cast<long double>(smoothing) + 1;
        REQUIRE(averages.squared_norm == Approx(static_cast<double>(norm / weights)));
        REQUIRE(averages.covariance_trace == Approx(static_cast<double>(trace / weights)));
        REQUIRE(averages.noise_scale().value() == Approx(static_cast<double>(trace / norm)));
        // Divided by 1 − θᵗ, as it is usually written.
        const auto corrected = (1 - smoothing) / (1 - std::pow(smoothing, step + 1));
        REQUIRE(averages.squared_norm == Approx(static_cast<double>(norm) * corrected));
    }
}

TEST_CASE("gradient noise: equal shares give AdaptDL's form", "[gradient_noise]") {
    // c = 4 replicas of 16 samples: G = (4·0.5 − 2) / 3 and S = (2 − 0.5) · 64 / 3.
    const std::vector<LocalNorm> ranks{{16, 1.0}, {16, 3.0}, {16, 2.0}, {16, 2.0}};
    const auto sample = noise_of_replicas(ranks, 0.5);
    REQUIRE(sample);
    CHECK(sample->squared_norm == Approx(0.0).margin(1e-12));
    CHECK(sample->covariance_trace == Approx(32));
}

TEST_CASE("gradient noise: one rank says nothing, ranks without samples do not count",
          "[gradient_noise]") {
    CHECK_FALSE(noise_of_replicas(std::vector<LocalNorm>{{16, 1.0}}, 1.0));
    CHECK_FALSE(noise_of_replicas(std::vector<LocalNorm>{{16, 1.0}, {0, 0.0}}, 1.0));
    const auto three = noise_of_replicas(std::vector<LocalNorm>{{8, 1.0}, {0, 0.0}, {8, 2.0}}, 1.0);
    const auto two = noise_of_replicas(std::vector<LocalNorm>{{8, 1.0}, {8, 2.0}}, 1.0);
    REQUIRE((three && two));
    CHECK(three->squared_norm == two->squared_norm);
    CHECK(three->covariance_trace == two->covariance_trace);
}

TEST_CASE("gradient noise: the estimators are unbiased, with uneven shares too",
          "[gradient_noise][property]") {
    // Gradients of one sample are normal: |G|² = 4 in one of 10 dimensions, tr Σ = 10 · 9.
    constexpr int dimensions = 10;
    const std::vector<std::int64_t> shares{1, 2, 5};
    RandomStream random(3, "gradient_noise");
    double norm_mean = 0;
    double trace_mean = 0;
    constexpr int trials = 20'000;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> whole(dimensions, 0.0);
        std::vector<LocalNorm> ranks;
        for (const std::int64_t share : shares) {
            double norm = 0;
            for (int k = 0; k < dimensions; ++k) {
                double sum = 0;
                for (std::int64_t i = 0; i < share; ++i) sum += random.normal(k == 0 ? 2 : 0, 3);
                whole[static_cast<std::size_t>(k)] += sum / 8;
                norm += sum * sum / static_cast<double>(share * share);
            }
            ranks.push_back({share, norm});
        }
        double average = 0;
        for (const double each : whole) average += each * each;
        const NoiseSample sample = noise_of_replicas(ranks, average).value();
        norm_mean += sample.squared_norm / trials;
        trace_mean += sample.covariance_trace / trials;
    }
    CHECK(norm_mean == Approx(4).margin(0.3));    // standard error 0.09
    CHECK(trace_mean == Approx(90).margin(1.5));  // standard error 0.4
}

TEST_CASE("gradient noise: without meaning there is no scale, and no step spoils the averages",
          "[gradient_noise]") {
    NoiseAverages averages;
    averages.add({.squared_norm = -1, .covariance_trace = 5}, 0.9);
    CHECK_FALSE(averages.noise_scale());
    const NoiseAverages before = averages;
    averages.add({.squared_norm = std::nan(""), .covariance_trace = 1}, 0.9);
    averages.add({.squared_norm = 1, .covariance_trace = std::numeric_limits<double>::infinity()},
                 0.9);
    CHECK(averages == before);
}

TEST_CASE("gradient noise: a step that overflowed in either estimate is left out",
          "[gradient_noise]") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    NoiseAverages averages;
    averages.add({.squared_norm = 2, .covariance_trace = 5}, 0.9);
    const NoiseAverages before = averages;
    for (const double lost : {infinity, -infinity, std::nan("")}) {
        averages.add({.squared_norm = lost, .covariance_trace = 1}, 0.9);
        averages.add({.squared_norm = 1, .covariance_trace = lost}, 0.9);
        CHECK(averages == before);
    }
}

TEST_CASE("clipped average: a new value counts at most cap times the average",
          "[gradient_noise][golden]") {
    ClippedAverage average(0.9, 2);
    CHECK_FALSE(average.value());
    CHECK(average.add(10) == Approx(10));
    CHECK(average.add(1000) == Approx(0.9 * 10 + 0.1 * 20));
    CHECK(average.add(1) == Approx(0.9 * 11 + 0.1 * 5.5));
    CHECK(average.add(10) == Approx(0.9 * 10.45 + 0.1 * 10));
}
