// model_test.cpp — gradients against finite differences, and equal bits wherever they are computed.
#include "kernels/model.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "kernels/models/dense_network.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using Catch::Matchers::Contains;

namespace {

DataSet data_of(std::int64_t samples, std::int32_t features, std::int32_t classes) {
    return load_data({.kind = "synthetic",
                      .images = {},
                      .labels = {},
                      .samples = samples,
                      .features = features,
                      .classes = classes,
                      .seed = 9});
}

std::vector<std::uint32_t> first_samples(std::int64_t count) {
    std::vector<std::uint32_t> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), 0U);
    return samples;
}

struct Found {
    std::vector<float> gradient;
    BatchResult result;
    friend bool operator==(const Found& a, const Found& b) {
        return a.gradient == b.gradient && a.result.loss_sum == b.result.loss_sum &&
               a.result.correct == b.result.correct;
    }
};

// With weights and gradient so many elements after the start of a buffer.
Found gradient_at(const Model& model, const DataSet& data, std::span<const std::uint32_t> samples,
                  std::size_t offset) {
    const std::vector<float> weights = model.initial_weights(1);
    std::vector<float> shifted(weights.size() + offset);
    std::ranges::copy(weights, shifted.begin() + static_cast<std::ptrdiff_t>(offset));
    std::vector<float> gradient(weights.size() + offset, 0.0F);
    const auto workspace = model.make_workspace();
    Found found;
    found.result = model.gradient(std::span(shifted).subspan(offset), data, samples,
                                  std::span(gradient).subspan(offset), *workspace, {});
    found.gradient.assign(gradient.begin() + static_cast<std::ptrdiff_t>(offset), gradient.end());
    return found;
}

std::string complaint(const ModelSpec& spec, const DataSet& data) {
    try {
        make_model(spec, data);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("model: the gradient is the loss's derivative", "[model][property]") {
    const std::vector<std::int32_t> units =
        GENERATE(std::vector<std::int32_t>{7, 4}, std::vector<std::int32_t>{7, 9, 4},
                 std::vector<std::int32_t>{7, 6, 5, 4});
    const DataSet data = data_of(23, 7, 4);
    const DenseNetwork<double> network(units);
    const auto workspace = network.make_workspace();
    const auto samples = first_samples(23);
    std::vector<double> weights = network.initial_weights(3);
    RandomStream random(3, "biases");
    for (double& weight : weights) weight += random.normal(0, 0.1);
    std::vector<double> gradient(weights.size(), 0.0);
    const BatchResult result = network.gradient(weights, data, samples, gradient, *workspace, {});
    CHECK(result.loss_sum > 0);
    const double step = 1e-6;
    double error_max = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double weight = weights[i];
        weights[i] = weight + step;
        const double above = network.evaluate(weights, data, samples, *workspace).loss_sum;
        weights[i] = weight - step;
        const double below = network.evaluate(weights, data, samples, *workspace).loss_sum;
        weights[i] = weight;
        const double difference = (above - below) / (2 * step);
        error_max = std::max(error_max, std::abs(difference - gradient[i]));
    }
    CHECK(error_max < 1e-6);
}

TEST_CASE("model: tensors lie in forward order and finish in reverse", "[model]") {
    const DataSet data = data_of(40, 6, 3);
    const auto model = make_model({.kind = "mlp", .hidden = {5, 4}}, data);
    std::size_t end = 0;
    for (const TensorSlice& tensor : model->tensors()) {
        CHECK(tensor.begin == end);
        end += tensor.count;
    }
    CHECK(end == model->parameter_count());
    CHECK(model->tensors()[0].name == "layer0.weight");
    CHECK(model->tensors()[5].name == "layer2.bias");
    const std::vector<float> weights = model->initial_weights(1);
    const auto workspace = model->make_workspace();
    const auto count = static_cast<std::int64_t>(GENERATE(0, 1, 40));
    CAPTURE(count);
    const auto samples = first_samples(count);
    std::vector<float> gradient(weights.size(), 0.0F);
    std::vector<std::vector<float>> seen;
    std::vector<std::size_t> order;
    model->gradient(weights, data, samples, gradient, *workspace, [&](std::size_t tensor) {
        order.push_back(tensor);
        const TensorSlice& slice = model->tensors()[tensor];
        const auto part = std::span(gradient).subspan(slice.begin, slice.count);
        seen.emplace_back(part.begin(), part.end());
    });
    REQUIRE(order == std::vector<std::size_t>{5, 4, 3, 2, 1, 0});
    for (std::size_t i = 0; i < order.size(); ++i) {  // complete when it was said
        const TensorSlice& slice = model->tensors()[order[i]];
        CHECK(std::ranges::equal(seen[i], std::span(gradient).subspan(slice.begin, slice.count)));
    }
}

TEST_CASE("model: gradients add up over micro-batches", "[model]") {
    const DataSet data = data_of(1300, 8, 3);  // more than go through the network at once
    const auto model = make_model({.kind = "mlp", .hidden = {6}}, data);
    const std::vector<float> weights = model->initial_weights(2);
    const auto workspace = model->make_workspace();
    const auto samples = first_samples(1300);
    std::vector<float> whole(weights.size(), 0.0F);
    std::vector<float> parts(weights.size(), 0.0F);
    const BatchResult all = model->gradient(weights, data, samples, whole, *workspace, {});
    BatchResult sum;
    for (std::size_t begin = 0; begin < samples.size(); begin += 100) {
        const BatchResult part = model->gradient(
            weights, data, std::span(samples).subspan(begin, 100), parts, *workspace, {});
        sum.loss_sum += part.loss_sum;
        sum.correct += part.correct;
    }
    CHECK(sum.correct == all.correct);
    CHECK(sum.loss_sum == Approx(all.loss_sum));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        REQUIRE(parts[i] == Approx(whole[i]).margin(1e-3));
    }
    const BatchResult seen = model->evaluate(weights, data, samples, *workspace);
    CHECK(seen.loss_sum == all.loss_sum);
    CHECK(seen.correct == all.correct);
}

TEST_CASE("model: equal bits wherever the buffers lie", "[model][property]") {
    // Around the widths of vectors and the sizes at which the product takes another way.
    const auto features = static_cast<std::int32_t>(GENERATE(1, 3, 8, 17, 65));
    const auto batch = static_cast<std::int64_t>(GENERATE(1, 2, 5, 16, 33));
    CAPTURE(features, batch);
    const DataSet data = data_of(33, features, 5);
    const auto samples = first_samples(batch);
    for (const ModelSpec& spec : {ModelSpec{"softmax", {}}, ModelSpec{"mlp", {7, 3}}}) {
        const auto model = make_model(spec, data);
        const Found expected = gradient_at(*model, data, samples, 0);
        for (std::size_t offset = 1; offset < 5; ++offset) {
            CAPTURE(offset);
            REQUIRE(gradient_at(*model, data, samples, offset) == expected);
        }
    }
}

TEST_CASE("model: equal bits on any number of threads", "[model]") {
    const DataSet data = data_of(400, 100, 10);
    const auto model = make_model({.kind = "mlp", .hidden = {120}}, data);
    const auto samples = first_samples(400);
    const Found expected = gradient_at(*model, data, samples, 0);
    std::vector<Found> found(4);
    std::vector<std::thread> threads;
    for (Found& each : found) {
        threads.emplace_back([&] { each = gradient_at(*model, data, samples, 0); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Found& each : found) CHECK(each == expected);
}

TEST_CASE("model: initial weights are a function of the seed", "[model]") {
    const DataSet data = data_of(10, 50, 4);
    const auto model = make_model({.kind = "mlp", .hidden = {200}}, data);
    const std::vector<float> weights = model->initial_weights(1);
    CHECK(weights == model->initial_weights(1));
    CHECK(weights != model->initial_weights(2));
    const TensorSlice& first = model->tensors()[0];
    double squares = 0;
    for (std::size_t i = 0; i < first.count; ++i) {
        squares += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
    }
    CHECK(squares / static_cast<double>(first.count) == Approx(2.0 / 50).epsilon(0.05));
    const TensorSlice& bias = model->tensors()[1];
    CHECK(std::ranges::all_of(std::span(weights).subspan(bias.begin, bias.count),
                              [](float value) { return value == 0; }));
}

TEST_CASE("model: scores beyond the range of exp still have a loss", "[model]") {
    const DataSet data = data_of(5, 2, 3);
    const auto model = make_model({}, data);
    std::vector<float> weights(model->parameter_count(), 0.0F);
    weights[model->tensors()[1].begin] = 3e4F;  // the first class's bias
    std::vector<float> gradient(weights.size(), 0.0F);
    const auto workspace = model->make_workspace();
    const BatchResult result =
        model->gradient(weights, data, first_samples(5), gradient, *workspace, {});
    const auto others = std::ranges::count_if(data.labels, [](int label) { return label != 0; });
    CHECK(result.loss_sum == Approx(3e4 * static_cast<double>(others)));
    CHECK(std::ranges::all_of(gradient, [](float value) { return std::isfinite(value); }));
}

TEST_CASE("model: kinds and sizes that there are not are refused", "[model]") {
    const DataSet data = data_of(10, 2, 2);
    CHECK(complaint({.kind = "soft_max", .hidden = {}}, data) ==
          "model: at /kind: expected cnn, lenet5, mlp, resnet20, resnet32 or softmax, found "
          "\"soft_max\" (did you mean "
          "\"softmax\"?)");
    CHECK_THAT(complaint({.kind = "softmax", .hidden = {3}}, data), Contains("at /hidden"));
    CHECK_THAT(complaint({.kind = "mlp", .hidden = {}}, data), Contains("1 to 16 hidden layers"));
    CHECK_THAT(complaint({.kind = "mlp", .hidden = {3, 0}}, data), Contains("at /hidden/1"));
    CHECK_THAT(complaint({.kind = "mlp", .hidden = {65'536, 65'536}}, data),
               Contains("at most 268435456 parameters"));
}
