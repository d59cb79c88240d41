// noise_step_test.cpp — the step that measures noise on its way: the plain step and the plain
// norms.
#include "kernels/noise_step.hpp"

#include <catch2/catch.hpp>

#include "kernels/averaging.hpp"
#include "tests/kernels/codec_ranks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

TEST_CASE("noise step: it is the step with the mean gradient", "[gradient_noise]") {
    const MomentumRule rule{.momentum = 0.9F, .weight_decay = 1e-3F, .rate = 0.1F};
    for (const int learners : {1, 3}) {
        const auto gradients = rank_gradients(5, learners, 41);
        std::vector<float> joined;
        std::vector<std::span<const float>> spans(gradients.begin(), gradients.end());
        for (const auto& each : gradients) joined.insert(joined.end(), each.begin(), each.end());
        std::vector<float> weights = random_gradient(1, "weights", 41);
        std::vector<float> velocity = random_gradient(1, "velocity", 41);
        std::vector<float> same_weights = weights;
        std::vector<float> same_velocity = velocity;
        const StepNorms norms = noise_step(rule, joined, weights, velocity);
        std::vector<float> mean(41);
        mean_of_replicas(spans, mean);
        local_step(rule, mean, same_weights, same_velocity);
        CHECK(weights == same_weights);
        CHECK(velocity == same_velocity);
        CHECK(norms.mean == Approx(squared_norm_of(mean)));
        REQUIRE(norms.learners.size() == gradients.size());
        for (std::size_t j = 0; j < gradients.size(); ++j) {
            CHECK(norms.learners[j] == Approx(squared_norm_of(gradients[j])));
        }
    }
}

TEST_CASE("noise step: its norms give the noise of replicas", "[gradient_noise][golden]") {
    // AdaptDL's form with c = 4 learners of 16 samples: see gradient_noise_test.cpp.
    const StepNorms norms{.learners = {1, 3, 2, 2}, .mean = 0.5};
    const auto noise = norms.noise(16);
    REQUIRE(noise);
    CHECK(noise->squared_norm == Approx(0.0).margin(1e-12));
    CHECK(noise->covariance_trace == Approx(32));
    CHECK_FALSE(StepNorms{.learners = {1}, .mean = 1}.noise(16));
}
