// codec_error_test.cpp — how far codecs are off: unbiased with the stated variance, or by a share.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/codecs/atomo.hpp"
#include "kernels/codecs/power_sgd.hpp"
#include "kernels/element_rules.hpp"
#include "tests/kernels/codec_ranks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;

namespace {

struct Measured {
    std::vector<double> mean;
    double squared_error = 0;  // E‖Q(v) − v‖²
};

Measured measured(std::string_view name, double level, const std::vector<float>& gradient,
                  TensorShape shape, std::int64_t trials) {
    CodecRanks one(name, {.level = level, .seed = 17}, shape, 1);
    Measured found;
    found.mean.resize(gradient.size());
    const auto share = static_cast<double>(trials);
    for (std::int64_t step = 0; step < trials; ++step) {
        const std::vector<float> decoded = one.step(step, {gradient});
        found.squared_error += squared_distance(decoded, gradient) / share;
        for (std::size_t i = 0; i < decoded.size(); ++i) {
            found.mean[i] += static_cast<double>(decoded[i]) / share;
        }
    }
    return found;
}

// Σ of the variances of elements rounded to multiples of scale ÷ levels.
double rounding_variance(const std::vector<float>& values, double scale, double levels) {
    double sum = 0;
    for (const float value : values) {
        const double ratio = std::abs(static_cast<double>(value)) / scale * levels;
        const double part = ratio - std::floor(ratio);
        sum += part * (1 - part) * (scale / levels) * (scale / levels);
    }
    return sum;
}

double largest_of(const std::vector<float>& values) {
    double largest = 0;
    for (const float value : values)
        largest = std::max(largest, std::abs(static_cast<double>(value)));
    return largest;
}

// Of an unbiased codec the mean of n trials is off by the squared error ÷ n in the mean, and hardly
// ever by three times that.
void check_unbiased(const Measured& found, const std::vector<float>& gradient, double variance,
                    std::int64_t trials) {
    CHECK(found.squared_error == Approx(variance).epsilon(0.05));
    CHECK(squared_distance(found.mean, gradient) < 3 * variance / static_cast<double>(trials));
}

}  // namespace

TEST_CASE("codec error: QSGD is unbiased, with the variance of its rounding and within its bound",
          "[codec][property]") {
    constexpr std::int64_t trials = 3000;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        for (const double levels : {1.0, 4.0, 64.0}) {
            CAPTURE(seed, levels);
            const std::vector<float> gradient = random_gradient(seed, "v", 96);
            const double norm = std::sqrt(squared_norm_of(gradient));
            const double variance = rounding_variance(gradient, norm, levels);
            for (const std::string_view name : {"qsgd", "qsgd_shared"}) {
                const Measured found = measured(name, levels, gradient, {96, 1}, trials);
                check_unbiased(found, gradient, variance, trials);
                const double bound = std::min(96 / (levels * levels), std::sqrt(96.0) / levels);
                CHECK(found.squared_error < bound * norm * norm);
            }
        }
    }
}

TEST_CASE("codec error: TernGrad is unbiased with max|v| ‖v‖₁ − ‖v‖²", "[codec][property]") {
    constexpr std::int64_t trials = 3000;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        const std::vector<float> gradient = random_gradient(seed, "v", 96);
        double sum = 0;
        for (const float value : gradient) sum += std::abs(static_cast<double>(value));
        const double variance = largest_of(gradient) * sum - squared_norm_of(gradient);
        for (const std::string_view name : {"terngrad", "terngrad_shared"}) {
            check_unbiased(measured(name, 0, gradient, {96, 1}, trials), gradient, variance,
                           trials);
        }
        // Clipping trades bias for variance.
        const Measured clipped = measured("terngrad", 1, gradient, {96, 1}, trials);
        CHECK(clipped.squared_error < variance);
        CHECK(squared_distance(clipped.mean, gradient) >
              3 * variance / static_cast<double>(trials));
    }
}

TEST_CASE("codec error: a common scale costs variance where ranks differ", "[codec][property]") {
    // The second rank's gradient is ten times the first's.
    const std::vector<float> small = random_gradient(4, "v", 64);
    std::vector<float> large = random_gradient(5, "v", 64);
    for (float& value : large) value *= 10;
    const double scale = std::sqrt(squared_norm_of(large));
    const double shared =
        (rounding_variance(small, scale, 16) + rounding_variance(large, scale, 16)) / 4;
    const double own_scale = std::sqrt(squared_norm_of(small));
    const double apart =
        (rounding_variance(small, own_scale, 16) + rounding_variance(large, scale, 16)) / 4;
    CHECK(shared > apart);
    const std::vector<double> exact = mean_of({small, large});
    for (const std::string_view name : {"qsgd", "qsgd_shared"}) {
        CodecRanks ranks(name, {.level = 16, .seed = 2}, {64, 1}, 2);
        double error = 0;
        for (std::int64_t step = 0; step < 3000; ++step) {
            error += squared_distance(ranks.step(step, {small, large}), exact) / 3000;
        }
        CHECK(error == Approx(name == "qsgd" ? apart : shared).epsilon(0.05));
    }
}

TEST_CASE("codec error: random-k is unbiased with d/k − 1, or keeps k/d with error feedback",
          "[codec][property]") {
    constexpr std::int64_t trials = 4000;
    const std::vector<float> gradient = random_gradient(8, "v", 100);
    const double norm = squared_norm_of(gradient);
    for (const std::int64_t kept : {5, 20, 30, 100}) {
        CAPTURE(kept);
        const double share = static_cast<double>(kept) / 100;
        double variance = 0;  // Σ (n − 1) v²: strata of 30 are of 3 and of 4
        for (std::int64_t k = 0; k < kept; ++k) {
            const auto [begin, end] = stratum_of(k, kept, 100);
            for (auto i = begin; i < end; ++i) {
                const auto value = static_cast<double>(gradient[static_cast<std::size_t>(i)]);
                variance += static_cast<double>(end - begin - 1) * value * value;
            }
        }
        if (100 % kept == 0) CHECK(variance == Approx((1 / share - 1) * norm));
        const Measured found = measured("random_k", share, gradient, {100, 1}, trials);
        CHECK(found.squared_error == Approx(variance).epsilon(0.05));
        CHECK(squared_distance(found.mean, gradient) <=
              3 * variance / static_cast<double>(trials) + 1e-12);
    }
    CodecRanks fed("random_k", {.level = 0.2, .error_feedback = true, .seed = 17}, {100, 1}, 1);
    CHECK(squared_distance(fed.step(0, {gradient}), gradient) < norm);  // not scaled
}

TEST_CASE("codec error: ATOMO is unbiased with Σ σ² (1/p − 1), and its chances are the best",
          "[codec][property]") {
    // Water filling: 8 is certain, the rest share two atoms in proportion.
    const std::vector<double> sigma{8, 2, 1, 1, 0.5, 0.5};
    const std::vector<double> chances = atomo_chances(sigma, 3);
    CHECK(chances[0] == 1);
    CHECK(chances[1] == Approx(2 * 2 / 5.0));
    CHECK(chances[5] == Approx(0.5 * 2 / 5.0));
    CHECK(atomo_chances({{3, 1, 0}}, 2) == std::vector<double>{1, 1, 0});
    CHECK(atomo_chances({{0, 0}}, 1) == std::vector<double>{0, 0});
    CHECK(atomo_chances({{1, 1, 1, 1}}, 1) == std::vector<double>(4, 0.25));

    constexpr std::int64_t trials = 4000;
    constexpr std::size_t rows = 8;
    constexpr std::size_t columns = 6;
    // A matrix with known singular values: outer products of unit vectors.
    const std::vector<double> values{4, 2, 1, 0.5};
    std::vector<float> matrix(rows * columns, 0.0F);
    for (std::size_t k = 0; k < values.size(); ++k) {
        matrix[k * columns + (k + 1)] = static_cast<float>(values[k]);
    }
    const std::vector<double> p = atomo_chances(values, 2);
    double variance = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
        variance += values[k] * values[k] * (1 / p[k] - 1);
    }
    check_unbiased(measured("atomo", 2, matrix, {rows, columns}, trials), matrix, variance, trials);
}

TEST_CASE("codec error: what contracts never loses more than the gradient", "[codec][property]") {
    for (const CodecEntry& entry : all_codecs()) {
        if (!entry.contracts) continue;
        for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
            CAPTURE(entry.name, seed);
            const TensorShape shape{24, 20};
            const CodecSettings fed{.error_feedback = true, .seed = seed};
            CodecRanks one(entry.name, fed, shape, 1);
            const std::vector<float> gradient = random_gradient(seed, "v", shape.elements());
            const double norm = squared_norm_of(gradient);
            const double error = squared_distance(one.step(0, {gradient}), gradient);
            CHECK(error < norm);
            if (entry.name.starts_with("top_k")) CHECK(error <= (1 - 5.0 / 480) * norm);
        }
    }
}

TEST_CASE("codec error: error feedback loses nothing, it only delays", "[codec][property]") {
    for (const CodecEntry& entry : all_codecs()) {
        if (!entry.contracts) continue;
        CAPTURE(entry.name);
        const TensorShape shape{16, 12};
        CodecRanks ranks(entry.name, {.error_feedback = true, .seed = 4}, shape, 3);
        std::vector<double> given(192);
        std::vector<double> arrived(192);
        for (std::int64_t step = 0; step < 6; ++step) {
            const auto gradients = rank_gradients(static_cast<std::uint64_t>(step), 3, 192);
            const std::vector<float> mean = ranks.step(step, gradients);
            const auto exact = mean_of(gradients);
            for (std::size_t i = 0; i < 192; ++i) {
                given[i] += exact[i];
                arrived[i] += static_cast<double>(mean[i]);
            }
        }
        // Given = arrived + what the ranks still keep, in the mean over the ranks.
        for (const auto& codec : ranks.codecs) {
            const std::span<float> kept = codec->memory().back();
            for (std::size_t i = 0; i < 192; ++i) arrived[i] += static_cast<double>(kept[i]) / 3;
        }
        CHECK(squared_distance(given, arrived) <
              (entry.kind == Codec::fp16 ? 1e-6 : 1e-10) * squared_norm_of(given));
    }
}

TEST_CASE("codec error: memory put back makes a step come out as before", "[codec]") {
    const TensorShape shape{20, 16};
    CodecRanks ranks("power_sgd", {.error_feedback = true, .seed = 4}, shape, 2);
    const auto gradients = rank_gradients(1, 2, shape.elements());
    ranks.step(0, gradients);
    std::vector<std::vector<float>> kept;
    for (const auto& codec : ranks.codecs) {
        for (const auto part : codec->memory()) kept.emplace_back(part.begin(), part.end());
    }
    const std::vector<float> first = ranks.step(1, gradients);
    ranks.step(2, gradients);
    std::size_t next = 0;
    for (const auto& codec : ranks.codecs) {
        for (const auto part : codec->memory()) std::ranges::copy(kept[next++], part.begin());
    }
    CHECK(ranks.step(1, gradients) == first);
}

TEST_CASE("codec error: PowerSGD finds a gradient of its rank, and keeps looking after zeros",
          "[codec][property]") {
    const TensorShape shape{30, 20};
    const std::vector<float> left = random_gradient(1, "left", 60);
    const std::vector<float> right = random_gradient(1, "right", 40);
    std::vector<float> matrix(600);
    outer(left, right, 2, matrix);
    CodecRanks one("power_sgd", {.level = 2, .seed = 3}, shape, 1);
    CHECK(squared_distance(one.step(0, {matrix}), matrix) < 1e-9 * squared_norm_of(matrix));
    // A gradient of zeros, and one of rank one, leave columns without direction.
    const std::vector<float> zeros(600, 0.0F);
    CHECK(one.step(1, {zeros}) == zeros);
    std::vector<float> thin(600);
    outer(std::span(left).first(30), std::span(right).first(20), 1, thin);
    CHECK(squared_distance(one.step(2, {thin}), thin) < 1e-9 * squared_norm_of(thin));
    CHECK(squared_distance(one.step(3, {matrix}), matrix) < 1e-9 * squared_norm_of(matrix));
}

TEST_CASE("codec error: PowerSGD's warm start comes nearer with every step", "[codec][property]") {
    // The same gradient again and again: a power iteration towards the best rank 2.
    const TensorShape shape{30, 20};
    std::vector<float> matrix = random_gradient(9, "noise", 600);
    const std::vector<float> left = random_gradient(1, "left", 60);
    const std::vector<float> right = random_gradient(1, "right", 40);
    std::vector<float> low(600);
    outer(left, right, 2, low);
    for (std::size_t i = 0; i < 600; ++i) matrix[i] += 20 * low[i];
    CodecRanks one("power_sgd", {.level = 2, .seed = 3}, shape, 1);
    double before = squared_norm_of(matrix);
    for (std::int64_t step = 0; step < 5; ++step) {
        const double error = squared_distance(one.step(step, {matrix}), matrix);
        CHECK(error <= before * (1 + 1e-6));
        before = error;
    }
    CHECK(before < 0.7 * squared_norm_of(matrix));
}
