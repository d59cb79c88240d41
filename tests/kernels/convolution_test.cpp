// convolution_test.cpp — the convolutional network: its gradient against finite differences, and
// what it is refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "kernels/models/convolution_network.hpp"

using namespace ukemi;

namespace {

DataSet images_of(std::int64_t samples, std::int32_t side, std::int32_t classes) {
    return load_data({"synthetic", {}, {}, samples, side * side, classes, 9});
}

std::vector<std::uint32_t> first_samples(std::int64_t count) {
    std::vector<std::uint32_t> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), 0U);
    return samples;
}

}  // namespace

TEST_CASE("convolution: the gradient is the loss's derivative", "[model][property]") {
    const std::int32_t side = GENERATE(4, 5, 8);  // 5: pooling leaves a row over
    CAPTURE(side);
    const DataSet data = images_of(17, side, 4);
    const ConvolutionNetwork<double> network(side, 3, 4);
    auto workspace = network.make_workspace();
    const auto samples = first_samples(17);
    std::vector<double> weights = network.initial_weights(3);
    RandomStream random(3, "biases");
    for (double& weight : weights) weight += random.normal(0, 0.1);
    std::vector<double> gradient(weights.size(), 0.0);
    const BatchResult result = network.gradient(weights, data, samples, gradient, workspace, {});
    CHECK(result.loss_sum > 0);
    const double step = 1e-6;
    double error_max = 0;
    double largest = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double weight = weights[i];
        weights[i] = weight + step;
        const double above = network.evaluate(weights, data, samples, workspace).loss_sum;
        weights[i] = weight - step;
        const double below = network.evaluate(weights, data, samples, workspace).loss_sum;
        weights[i] = weight;
        const double difference = (above - below) / (2 * step);
        error_max = std::max(error_max, std::abs(difference - gradient[i]));
        largest = std::max(largest, std::abs(gradient[i]));
    }
    CHECK(error_max < 1e-6);
    CHECK(largest > 0.1);
}

TEST_CASE("convolution: one filter on one image, by hand", "[model]") {
    // The filter is the middle pixel; of the 2×2 places of a 4×4 image the largest is 9 ÷ 16.
    DataSet data{1, 16, 2, std::vector<float>(16, 0.0F), {1}};
    data.values[5] = 0.25F;
    data.values[10] = 0.5625F;
    const ConvolutionNetwork<double> network(4, 1, 2);
    REQUIRE(network.parameter_count() == 9 + 1 + 2 + 2);
    std::vector<double> weights(14, 0.0);
    weights[4] = 1;   // the middle
    weights[10] = 2;  // to class 0
    auto workspace = network.make_workspace();
    std::vector<double> gradient(14, 0.0);
    const auto samples = first_samples(1);
    const BatchResult result = network.gradient(weights, data, samples, gradient, workspace, {});
    const double wrong = 1 / (1 + std::exp(-2 * 0.5625));  // probability of class 0
    CHECK(result.loss_sum == Approx(-std::log(1 - wrong)));
    CHECK(result.correct == 0);
    CHECK(gradient[10] == Approx(wrong * 0.5625));
    CHECK(gradient[11] == Approx(-wrong * 0.5625));
    CHECK(gradient[12] == Approx(wrong));
    CHECK(gradient[4] == Approx(2 * wrong * 0.5625));
    CHECK(gradient[0] == Approx(2 * wrong * 0.25));  // its upper left neighbour
    CHECK(gradient[9] == Approx(2 * wrong));
}

TEST_CASE("convolution: tensors finish in reverse, and equal calls give equal bits", "[model]") {
    const DataSet data = images_of(40, 6, 3);
    const auto model = make_model({"cnn", {5}}, data);
    const std::vector<float> weights = model->initial_weights(1);
    std::vector<std::vector<float>> gradients(2, std::vector<float>(weights.size(), 0.0F));
    std::vector<std::size_t> order;
    for (std::vector<float>& gradient : gradients) {
        order.clear();
        const auto workspace = model->make_workspace();
        model->gradient(weights, data, first_samples(40), gradient, *workspace,
                        [&](std::size_t tensor) { order.push_back(tensor); });
    }
    CHECK(order == std::vector<std::size_t>{3, 2, 1, 0});
    CHECK(gradients[0] == gradients[1]);
    CHECK(std::ranges::any_of(gradients[0], [](float value) { return value != 0; }));
}

TEST_CASE("convolution: what is no image or no filter is refused", "[model]") {
    const auto complaint = [](const ModelSpec& spec, const DataSet& data) {
        try {
            make_model(spec, data);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    using Catch::Contains;
    const DataSet row = load_data({"synthetic", {}, {}, 10, 17, 3, 1});
    CHECK_THAT(complaint({"cnn", {4}}, row), Contains("square images"));
    CHECK_THAT(complaint({"cnn", {4}}, images_of(10, 3, 3)), Contains("at least 4"));
    CHECK_THAT(complaint({"cnn", {}}, images_of(10, 5, 3)), Contains("filters"));
    CHECK_THAT(complaint({"cnn", {0}}, images_of(10, 5, 3)), Contains("filters"));
    CHECK(complaint({"cnn", {2}}, images_of(10, 5, 3)) == "accepted");
}
