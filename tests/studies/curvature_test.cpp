// curvature_test.cpp — second order against closed forms and against differences of the loss.
#include "studies/curvature/curvature.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "kernels/models/dense_network.hpp"

using namespace ukemi;
using namespace ukemi::studies;
using namespace ukemi::kernels;

namespace {

struct CurvedProblem {
    explicit CurvedProblem(std::vector<std::int32_t> units)
        : data(load_data({.kind = "synthetic",
                          .images = {},
                          .labels = {},
                          .samples = 13,
                          .features = units.front(),
                          .classes = units.back(),
                          .seed = 4})),
          network(units),
          weights(network.initial_weights(2)),
          samples(13) {
        std::iota(samples.begin(), samples.end(), 0U);
        RandomStream random(2, "biases");
        for (double& weight : weights) weight += random.normal(0, 0.1);
    }
    GradientAt<double> gradient() const {
        return [this](std::span<const double> at, std::span<double> out) {
            std::ranges::fill(out, 0.0);
            const auto workspace = network.make_workspace();
            network.gradient(at, data, samples, out, *workspace, {});
            for (double& value : out) value /= 13;
        };
    }
    double loss(std::span<const double> at) const {
        const auto workspace = network.make_workspace();
        return network.evaluate(at, data, samples, *workspace).loss_sum / 13;
    }
    double loss_along(std::span<const double> direction, double by) const {
        std::vector<double> moved = weights;
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += by * direction[i];
        return loss(moved);
    }

    DataSet data;
    DenseNetwork<double> network;
    std::vector<double> weights;
    std::vector<std::uint32_t> samples;
};

// ½ Σ a_i w_i² + w_0 w_1.
void quadratic(std::span<const double> weights, std::span<double> gradient) {
    const double scale[] = {2, 3, 5};
    for (std::size_t i = 0; i < 3; ++i) gradient[i] = scale[i] * weights[i];
    gradient[0] += weights[1];
    gradient[1] += weights[0];
}

}  // namespace

TEST_CASE("curvature: exact where the loss is quadratic", "[curvature][golden]") {
    const std::vector<double> weights{1, -1, 2};
    const std::vector<double> direction{1, 1, 0};
    const auto found = hessian_times<double>(quadratic, weights, direction, 1e-2);
    CHECK(found[0] == Approx(3));
    CHECK(found[1] == Approx(4));
    CHECK(found[2] == Approx(0).margin(1e-9));
    const auto zeros = hessian_times<double>(quadratic, weights, std::vector<double>(3, 0.0), 1e-2);
    CHECK(zeros == std::vector<double>(3, 0.0));
    // G = (1, −2, 10); GᵀHG = Σ a g² + 2 g_0 g_1 = 2 + 12 + 500 − 4.
    const GradientCurvature along = curvature_along_gradient<double>(quadratic, weights, 1e-2);
    CHECK(along.squared_norm == Approx(105));
    CHECK(along.curvature == Approx(510));
    CHECK(along.best_rate() == Approx(105 / 510.0));
}

TEST_CASE("curvature: along the gradient it is the second derivative of the loss",
          "[curvature][property]") {
    const std::vector<std::int32_t> units =
        GENERATE(std::vector<std::int32_t>{6, 4}, std::vector<std::int32_t>{6, 7, 3},
                 std::vector<std::int32_t>{5, 6, 5, 3});
    const CurvedProblem problem(units);
    std::vector<double> gradient(problem.weights.size());
    problem.gradient()(problem.weights, gradient);
    const auto found = curvature_along_gradient<double>(problem.gradient(), problem.weights, 1e-4);
    const double by = 1e-4;  // no kink of a rectifier is as near
    const double second = (problem.loss_along(gradient, by) - 2 * problem.loss_along(gradient, 0) +
                           problem.loss_along(gradient, -by)) /
                          (by * by);
    const double first =
        (problem.loss_along(gradient, by) - problem.loss_along(gradient, -by)) / (2 * by);
    CHECK(found.squared_norm == Approx(first).epsilon(1e-5));
    CHECK(found.curvature == Approx(second).epsilon(1e-3));
    // A product with the Hessian is symmetric: aᵀHb = bᵀHa.
    RandomStream random(1, "directions");
    std::vector<double> a(gradient.size());
    std::vector<double> b(gradient.size());
    for (double& value : a) value = random.normal(0, 1);
    for (double& value : b) value = random.normal(0, 1);
    const auto dot = [](const std::vector<double>& x, const std::vector<double>& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    const auto times = [&](const std::vector<double>& x) {
        return hessian_times<double>(problem.gradient(), problem.weights, x, 1e-4);
    };
    CHECK(dot(a, times(b)) == Approx(dot(b, times(a))).epsilon(1e-5));
}

TEST_CASE("curvature: single precision comes near double", "[curvature]") {
    const CurvedProblem problem({6, 4});
    const auto model = make_model({.kind = "softmax", .hidden = {}}, problem.data);
    const std::vector<float> weights(problem.weights.begin(), problem.weights.end());
    const auto workspace = model->make_workspace();
    const GradientAt<float> gradient = [&](std::span<const float> at, std::span<float> out) {
        std::ranges::fill(out, 0.0F);
        model->gradient(at, problem.data, problem.samples, out, *workspace, {});
        for (float& value : out) value /= 13;
    };
    const auto in_single = curvature_along_gradient<float>(gradient, weights, 1e-2);
    const auto in_double =
        curvature_along_gradient<double>(problem.gradient(), problem.weights, 1e-4);
    CHECK(in_single.curvature == Approx(in_double.curvature).epsilon(0.01));
    const auto single =
        gauss_newton_diagonal(static_cast<const Model&>(*model), std::span<const float>(weights),
                              problem.data, std::span<const std::uint32_t>(problem.samples));
    const auto twice =
        gauss_newton_diagonal(problem.network, std::span<const double>(problem.weights),
                              problem.data, std::span<const std::uint32_t>(problem.samples));
    for (std::size_t i = 0; i < single.size(); ++i) {
        CHECK(single[i] == Approx(twice[i]).epsilon(1e-3).margin(1e-6));
    }
}

TEST_CASE("curvature: where logits are linear in a weight, Gauss and Newton have the Hessian",
          "[curvature][property]") {
    // All weights of a softmax regression, the last layer's of a network with hidden units.
    const std::vector<std::int32_t> units =
        GENERATE(std::vector<std::int32_t>{6, 4}, std::vector<std::int32_t>{6, 7, 3});
    const CurvedProblem problem(units);
    const auto diagonal =
        gauss_newton_diagonal(problem.network, std::span<const double>(problem.weights),
                              problem.data, std::span<const std::uint32_t>(problem.samples));
    const auto tensors = problem.network.tensors();
    const std::size_t first = tensors[tensors.size() - 2].begin;
    double error_max = 0;
    for (std::size_t i = first; i < problem.weights.size(); ++i) {
        std::vector<double> unit(problem.weights.size(), 0.0);
        unit[i] = 1;
        const double by = 1e-3;
        const double second = (problem.loss_along(unit, by) - 2 * problem.loss_along(unit, 0) +
                               problem.loss_along(unit, -by)) /
                              (by * by);
        error_max = std::max(error_max, std::abs(second - diagonal[i]));
    }
    CHECK(error_max < 1e-6);
    CHECK(*std::ranges::max_element(diagonal) > 1e-3);
    CHECK(*std::ranges::min_element(diagonal) >= 0);
}

TEST_CASE("curvature: the Gauss–Newton diagonal is what differences of the loss give",
          "[curvature][property]") {
    // Σ_c p_c (∂ℓ_c ÷ ∂w)², every factor from losses alone, hidden layers included.
    const CurvedProblem problem({5, 6, 3});
    const std::vector<std::uint32_t> first{0};
    const auto diagonal =
        gauss_newton_diagonal(problem.network, std::span<const double>(problem.weights),
                              problem.data, std::span<const std::uint32_t>(first));
    const auto workspace = problem.network.make_workspace();
    DataSet labelled = problem.data;
    const auto loss_of = [&](std::uint8_t label, std::span<const double> at) {
        labelled.labels[0] = label;
        return problem.network.evaluate(at, labelled, first, *workspace).loss_sum;
    };
    double error_max = 0;
    for (std::size_t i = 0; i < problem.weights.size(); ++i) {
        double expected = 0;
        for (std::uint8_t label = 0; label < 3; ++label) {
            std::vector<double> moved = problem.weights;
            moved[i] += 1e-5;
            const double above = loss_of(label, moved);
            moved[i] -= 2e-5;
            const double slope = (above - loss_of(label, moved)) / 2e-5;
            expected += std::exp(-loss_of(label, problem.weights)) * slope * slope;
        }
        error_max = std::max(error_max, std::abs(expected - diagonal[i]));
    }
    CHECK(error_max < 1e-8);
}
