// image_model_test.cpp — LeNet-5 and ResNets: counts, gradients against finite differences, and
// that they learn.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "bench/moved_images.hpp"
#include "bench/tested_accuracy.hpp"
#include "kernels/models/image_gradient.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

DataSet images_of(std::int64_t samples, std::int32_t features, std::int32_t classes) {
    return load_data({.kind = "synthetic",
                      .samples = samples,
                      .features = features,
                      .classes = classes,
                      .seed = 2});
}

std::vector<std::uint32_t> first_images(std::size_t count) {
    std::vector<std::uint32_t> samples(count);
    std::iota(samples.begin(), samples.end(), 0U);
    return samples;
}

// Of every tensor some elements: the gradient against central differences of the loss.
void check_gradient(std::string_view kind, std::int32_t features) {
    CAPTURE(kind, features);
    const DataSet data = images_of(6, features, 4);
    const ImageNetwork network = image_network(kind, features, data.classes);
    ImageGradient<double> model(network);
    std::vector<double> weights = network.initial_weights(3);
    RandomStream random(7, "shift");
    for (double& weight : weights) weight += random.normal(0, 0.02);  // no zeros, no ties
    const auto samples = first_images(6);
    std::vector<double> gradient(weights.size(), 0.0);
    model.gradient(weights, data, samples, gradient, {});
    std::size_t checked = 0;
    std::size_t kinks = 0;
    for (const TensorSlice& tensor : network.tensors) {
        for (int pick = 0; pick < 3; ++pick) {
            const std::size_t i =
                tensor.begin + static_cast<std::size_t>(
                                   random.integer(0, static_cast<std::int64_t>(tensor.count) - 1));
            const auto loss_at = [&](double weight) {
                std::vector<double> moved = weights;
                moved[i] = weight;
                return model.evaluate(moved, data, samples).loss_sum;
            };
            constexpr double h = 1e-6;
            const double slope = (loss_at(weights[i] + h) - loss_at(weights[i] - h)) / (2 * h);
            const double off = std::abs(slope - gradient[i]);
            ++checked;
            // Between the two a rectifier or a maximum may change its mind.
            if (off > 1e-5 * (1 + std::abs(slope))) ++kinks;
        }
    }
    CHECK(checked == 3 * network.tensors.size());
    CHECK(kinks * 20 <= checked);
}

}  // namespace

TEST_CASE("image models: parameters are those of the papers' networks", "[image_model]") {
    // Caffe's lenet_train_test: 500 + 20 + 25,000 + 50 + 400,000 + 500 + 5,000 + 10.
    CHECK(image_network("lenet5", 28 * 28, 10).parameter_count == 431'080);
    // He et al., CVPR 2016, table 6: 0.27 M and 0.46 M.
    CHECK(image_network("resnet20", 3 * 32 * 32, 10).parameter_count == 269'722);
    CHECK(image_network("resnet32", 3 * 32 * 32, 10).parameter_count == 464'154);
    for (const char* kind : {"lenet5", "resnet20"}) {
        const ImageNetwork network = image_network(kind, 3 * 32 * 32, 10);
        std::size_t next = 0;
        for (const TensorSlice& tensor : network.tensors) {
            CHECK(tensor.begin == next);
            next += tensor.count;
        }
        CHECK(next == network.parameter_count);
    }
}

TEST_CASE("image models: as layers, every model has its own tensors", "[image_model]") {
    const DataSet data = images_of(4, 16 * 16, 5);
    for (const std::string_view kind : model_kinds()) {
        CAPTURE(kind);
        ModelSpec spec{.kind = std::string(kind), .hidden = {}};
        if (kind == "mlp") spec.hidden = {7, 6};
        if (kind == "cnn") spec.hidden = {5};
        const auto model = make_model(spec, data);
        const ImageNetwork network = network_of(spec, data.features, data.classes);
        CHECK(network.parameter_count == model->parameter_count());
        REQUIRE(network.tensors.size() == model->tensors().size());
        for (std::size_t i = 0; i < network.tensors.size(); ++i) {
            CHECK(network.tensors[i].name == model->tensors()[i].name);
            CHECK(network.tensors[i].begin == model->tensors()[i].begin);
            CHECK(network.tensors[i].count == model->tensors()[i].count);
        }
    }
}

TEST_CASE("image models: pixels are one square plane or three", "[image_model]") {
    CHECK(image_shape(784) == ImageShape{1, 28, 28});
    CHECK(image_shape(3072) == ImageShape{3, 32, 32});
    CHECK(image_shape(64) == ImageShape{1, 8, 8});
    CHECK(image_shape(50).height == 0);
    CHECK_THROWS_AS(image_network("lenet5", 50, 10), InputError);
    CHECK_THROWS_WITH(image_network("resnet20", 36, 10),
                      "model: at /kind: resnet20 needs square images of at least 4 pixels a side, "
                      "a multiple of 4, found 36 features");
}

TEST_CASE("image models: a convolutional network has a number of filters", "[image_model]") {
    const DataSet data = images_of(4, 6 * 6, 3);
    // 5 filters of 3 × 3 and a bias; 5 planes of 2 × 2 into 3 classes.
    CHECK(make_model({"cnn", {5}}, data)->parameter_count() == 5 * 10 + 3 * 21);
    CHECK_THROWS_WITH(make_model({"cnn", {}}, data), Catch::Contains("filters from 1 to 1024"));
    CHECK_THROWS_WITH(make_model({"cnn", {0}}, data), Catch::Contains("filters from 1 to 1024"));
    CHECK_THROWS_WITH(make_model({"cnn", {4}}, images_of(4, 3 * 3, 3)),
                      Catch::Contains("at least 4 pixels a side"));
    CHECK_THROWS_WITH(make_model({"cnn", {4}}, images_of(4, 17, 3)), Catch::Contains("square"));
}

TEST_CASE("image models: gradients are the slopes of the loss", "[image_model]") {
    check_gradient("cnn", 8 * 8);
    check_gradient("cnn", 5 * 5);  // the last row and column of the planes fall out of the pool
    check_gradient("lenet5", 16 * 16);
    check_gradient("lenet5", 3 * 16 * 16);
    check_gradient("resnet20", 8 * 8);
    check_gradient("resnet20", 3 * 4 * 4);
}

TEST_CASE("image models: tensors end from the last to the first, and samples add up",
          "[image_model]") {
    const DataSet data = images_of(200, 16 * 16, 4);
    const auto model = make_model({.kind = "lenet5", .hidden = {}}, data);
    const auto workspace = model->make_workspace();
    const std::vector<float> weights = model->initial_weights(1);
    std::vector<float> whole(weights.size(), 0.0F);
    std::vector<std::size_t> order;
    const auto samples = first_images(200);  // more than go through together
    const BatchResult result =
        model->gradient(weights, data, samples, whole, *workspace,
                        [&](std::size_t tensor) { order.push_back(tensor); });
    std::vector<std::size_t> expected(model->tensors().size());
    std::iota(expected.rbegin(), expected.rend(), std::size_t{0});
    CHECK(order == expected);
    std::vector<float> parts(weights.size(), 0.0F);
    double loss = 0;
    for (const std::size_t begin : {std::size_t{0}, std::size_t{128}}) {
        const auto part = std::span(samples).subspan(begin, begin == 0 ? 128 : 72);
        loss += model->gradient(weights, data, part, parts, *workspace, {}).loss_sum;
    }
    CHECK(whole == parts);
    CHECK(result.loss_sum == Approx(loss));
    CHECK(model->evaluate(weights, data, samples, *workspace).loss_sum == Approx(result.loss_sum));
}

TEST_CASE("image models: a few steps lower the loss", "[image_model]") {
    for (const char* kind : {"lenet5", "resnet20"}) {
        CAPTURE(kind);
        const DataSet data = images_of(32, 16 * 16, 3);
        const auto model = make_model({.kind = kind, .hidden = {}}, data);
        const auto workspace = model->make_workspace();
        std::vector<float> weights = model->initial_weights(1);
        const auto samples = first_images(32);
        const double before = model->evaluate(weights, data, samples, *workspace).loss_sum;
        for (int step = 0; step < 8; ++step) {
            std::vector<float> gradient(weights.size(), 0.0F);
            model->gradient(weights, data, samples, gradient, *workspace, {});
            for (std::size_t i = 0; i < weights.size(); ++i) {
                weights[i] -= 0.05F * gradient[i] / 32;
            }
        }
        CHECK(model->evaluate(weights, data, samples, *workspace).loss_sum < 0.95 * before);
    }
}

TEST_CASE("image models: the accuracy that benchmarks print is one on any number of cores",
          "[image_model]") {
    const std::size_t count = 2 * image_samples_max + 60;
    const DataSet data = images_of(static_cast<std::int64_t>(count), 4 * 4, 4);
    const auto model = make_model({.kind = "resnet20", .hidden = {}}, data);
    const std::vector<float> weights = model->initial_weights(1);
    const double whole =
        model->evaluate(weights, data, first_images(count), *model->make_workspace()).correct;
    for (const std::size_t threads : {1U, 2U, 5U, 16U}) {
        CAPTURE(threads);
        CHECK(bench::tested_accuracy(*model, data, count, weights, threads) ==
              whole / static_cast<double>(count));
    }
}

TEST_CASE("image models: images of whole trainings are moved a little, each time alike",
          "[image_model]") {
    const ImageShape shape{1, 9, 9};
    const auto moved = [&](std::int64_t batch, std::uint32_t sample) {
        std::vector<float> values(81, 0.0F);
        values[4 * 9 + 4] = 1;  // stays in the middle where it is only mirrored
        values[4 * 9 + 5] = 2;
        bench::move_image(values, shape, 3, batch, sample);
        return values;
    };
    std::set<std::vector<float>> seen;
    for (std::uint32_t sample = 0; sample < 1000; ++sample) {
        const std::vector<float> values = moved(sample / 7, sample);
        CHECK(values == moved(sample / 7, sample));
        const auto one = std::ranges::find(values, 1.0F) - values.begin();
        CHECK(std::abs(one / 9 - 4) <= 2);
        CHECK(std::abs(one % 9 - 4) <= 2);
        const auto two = std::ranges::find(values, 2.0F) - values.begin();
        CHECK((two == one + 1 || two == one - 1));
        seen.insert(values);
    }
    CHECK(seen.size() == 5 * 5 * 2);
    CHECK(moved(1, 5) != moved(2, 5));  // of another epoch
}
