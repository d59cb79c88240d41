// device_network_test.cpp — products, gradients and learners on a GPU against their CPU meaning;
// skipped, and said to be, where no GPU answers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/device_network.hpp"
#include "kernels/learners/learner_engine.hpp"
#include "kernels/models/image_gradient.hpp"
#include "studies/batched_learners/batched_devices.hpp"
#include "studies/batched_learners/cuda/cuda_batched_device.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::kernels::cuda;

namespace {

// Where a host stands in for the GPU, the same with less of it.
#if defined(UKEMI_CUDA_ON_HOST)
constexpr std::int64_t learner_batch = 4;
constexpr std::array gradient_samples{1, 3};
constexpr std::array product_uses{MatrixProducts::Use::own};
constexpr std::array trail_graph_samples{64};
constexpr std::string_view left_out = "resnet32";  // has the layers of resnet20
#else
constexpr std::int64_t learner_batch = 16;
constexpr std::array gradient_samples{1, 7, 64};
constexpr std::array product_uses{MatrixProducts::Use::cublas_if_there, MatrixProducts::Use::own};
constexpr std::array trail_graph_samples{0, 64};
constexpr std::string_view left_out = "";
#endif
constexpr std::array graph_samples{0, 64};

bool device_answers() {
    const std::string missing = gpu_unusable();
    if (!missing.empty()) WARN("skipped: no GPU answers: " << missing);
    return missing.empty();
}

// C = A B of every batch, in double; `a` and `b` by rows, then perhaps looked at transposed.
std::vector<float> product_of(const ProductSize& size, const MatrixView& a, const MatrixView& b,
                              std::span<const float> before) {
    std::vector<float> c(before.begin(), before.end());
    std::size_t place = 0;
    for (std::int64_t batch = 0; batch < size.batches; ++batch) {
        for (std::int64_t i = 0; i < size.rows; ++i) {
            for (std::int64_t j = 0; j < size.columns; ++j) {
                double sum = 0;
                for (std::int64_t k = 0; k < size.inner; ++k) {
                    sum += static_cast<double>(a.at[batch * a.batch + i * a.row + k * a.column]) *
                           static_cast<double>(b.at[batch * b.batch + k * b.row + j * b.column]);
                }
                c[place] = static_cast<float>(static_cast<double>(c[place]) + sum);
                ++place;
            }
        }
    }
    return c;
}

// How far a tensor may be off: a share of its own norm, and of what its elements would have of the
// norm of all.
struct Bounds {
    double of_own = 0;
    double of_all = 0;
};

// Weights whose gradient single precision is enough for, and how near it then is. A rectifier's
// input that rounds to the other side of zero changes many derivatives at once, so that the CPU's
// own gradient of a ResNet is off by up to 2e-3 (of three samples or more, in double), and two that
// are right differ by 6e-3. So half of each normalisation's channels are moved far above zero here,
// and half far below: no input is near it, and the CPU is off by less than 2e-4 of each tensor.
// Networks without normalisation have fewer rectifiers; there a few may round so.
struct StartOfModel {
    std::vector<float> weights;
    Bounds bounds{5e-3, 5e-3};
};
StartOfModel start_of(const Model& model, std::uint64_t seed) {
    StartOfModel start{.weights = model.initial_weights(seed), .bounds = {5e-3, 5e-3}};
    for (const TensorSlice& tensor : model.tensors()) {
        if (!tensor.name.starts_with("norm") || !tensor.name.ends_with("bias")) continue;
        start.bounds = {2e-3, 1e-5};
        for (std::size_t i = 0; i < tensor.count; ++i) {
            start.weights[tensor.begin + i] = i % 2 == 0 ? 8.0F : -8.0F;
        }
    }
    return start;
}

// "" if every tensor is near enough as a whole.
std::string difference_by_tensor(std::span<const TensorSlice> tensors, std::span<const float> found,
                                 std::span<const float> expected, const Bounds& bounds) {
    const auto norm_of = [](std::span<const float> a, std::span<const float> b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double off = static_cast<double>(a[i]) - static_cast<double>(b[i]);
            sum += off * off;
        }
        return std::sqrt(sum);
    };
    const std::vector<float> zeros(expected.size(), 0.0F);
    const double whole = norm_of(expected, zeros);
    for (const TensorSlice& tensor : tensors) {
        const auto part = [&](std::span<const float> of) {
            return of.subspan(tensor.begin, tensor.count);
        };
        const double own = norm_of(part(expected), part(zeros));
        const double part_of_whole = whole * std::sqrt(static_cast<double>(tensor.count) /
                                                       static_cast<double>(expected.size()));
        const double off = norm_of(part(found), part(expected));
        if (!(off <= bounds.of_own * own + bounds.of_all * part_of_whole)) {
            return fmt::format("{} is off by {:.2e}, of {:.2e} and {:.2e}", tensor.name, off, own,
                               part_of_whole);
        }
    }
    return {};
}

DataSet images(std::int32_t features, std::int64_t samples) {
    return load_data({.kind = "synthetic",
                      .images = {},
                      .labels = {},
                      .samples = samples,
                      .features = features,
                      .classes = 10,
                      .seed = 6});
}

ModelSpec spec_of(std::string_view kind) {
    ModelSpec spec{.kind = std::string(kind), .hidden = {}};
    if (kind == "mlp") spec.hidden = {50, 33};
    if (kind == "cnn") spec.hidden = {5};
    return spec;
}

}  // namespace

TEST_CASE("device products: every shape, way and batch, by cuBLAS and by our kernel", "[gpu]") {
    if (!device_answers()) return;
    const Stream stream = make_stream();
    for (const auto use : product_uses) {
        MatrixProducts products(stream.get(), use);
        for (const ProductSize size :
             {ProductSize{1, 1, 1, 1}, ProductSize{64, 64, 16, 1}, ProductSize{65, 63, 17, 3},
              ProductSize{10, 200, 500, 1}, ProductSize{500, 7, 129, 2},
              // A single row or column: both strides are 1, whichever way it lies.
              ProductSize{5, 3, 1, 2}, ProductSize{1, 4, 3, 2}, ProductSize{4, 1, 3, 2}}) {
            const auto count = [&](int rows, int columns) {
                return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
            };
            const auto batches = static_cast<std::size_t>(size.batches);
            const auto a = made_gradient("a", batches * count(size.rows, size.inner));
            const auto b = made_gradient("b", batches * count(size.inner, size.columns));
            const auto before = made_gradient("c", batches * count(size.rows, size.columns));
            const Buffer<float> device_a(a);
            const Buffer<float> device_b(b);
            for (int way = 0; way < 4; ++way) {
                const auto view_a = [&](const float* at) {
                    const std::int64_t batch = std::int64_t{size.rows} * size.inner;
                    return (way & 1) == 0 ? rows_of(at, size.inner, batch)
                                          : rows_of(at, size.rows, batch).transposed();
                };
                const auto view_b = [&](const float* at) {
                    const std::int64_t batch = std::int64_t{size.inner} * size.columns;
                    return (way & 2) == 0 ? rows_of(at, size.columns, batch)
                                          : rows_of(at, size.inner, batch).transposed();
                };
                Buffer<float> c(before);
                products.product(size, view_a(device_a.data()), view_b(device_b.data()), c.data(),
                                 std::int64_t{size.rows} * size.columns, true);
                check(cudaStreamSynchronize(stream.get()));
                CAPTURE(products.by(), size.rows, size.columns, size.inner, way);
                CHECK(
                    difference_beyond("c", c.read(),
                                      product_of(size, view_a(a.data()), view_b(b.data()), before),
                                      1e-4) == "");
            }
        }
    }
}

namespace {

// Features and samples. ResNets also of the least images, whose last planes are one pixel: of three
// samples a normalisation has three values there, and small deviations make much of rounding.
std::vector<std::pair<int, int>> gradient_inputs(std::string_view kind) {
    const bool is_resnet = kind.starts_with("resnet");
    std::vector<std::pair<int, int>> inputs;
    for (const int samples : gradient_samples) {
        inputs.emplace_back(is_resnet ? 3 * 32 * 32 : 28 * 28, samples);
    }
    if (is_resnet) inputs.emplace_back(4 * 4, 24);
    return inputs;
}

}  // namespace

TEST_CASE("device network: gradients of all models are those of the CPU", "[gpu]") {
    if (!device_answers()) return;
    for (const std::string_view kind : model_kinds()) {
        if (kind == left_out) continue;
        for (const auto& [features, samples] : gradient_inputs(kind)) {
            const DataSet data = images(features, 64);
            const ModelSpec spec = spec_of(kind);
            const auto model = make_model(spec, data);
            const ImageNetwork network = network_of(spec, data.features, data.classes);
            const auto [weights, bounds] = start_of(*model, 1);
            std::vector<std::uint32_t> order(static_cast<std::size_t>(samples));
            std::iota(order.begin(), order.end(), 0U);
            std::vector<float> expected(weights.size(), 0.0F);
            const auto workspace = model->make_workspace();
            const BatchResult right =
                model->gradient(weights, data, order, expected, *workspace, {});
            for (float& value : expected) value /= static_cast<float>(samples);
            const Stream stream = make_stream();
            DeviceNetwork device(network, 64, stream.get());
            const Buffer<float> device_weights(weights);
            const Buffer<float> values(std::span(data.values)
                                           .first(static_cast<std::size_t>(samples) *
                                                  static_cast<std::size_t>(data.features)));
            const Buffer<std::uint8_t> labels(data.labels);
            const Buffer<float> gradient(weights.size());
            const Buffer<double> result(2);
            for (int again = 0; again < 2; ++again) {  // nothing is left over from before
                device.gradient(device_weights.data(), values.data(), labels.data(), samples,
                                gradient.data(), result.data());
            }
            check(cudaStreamSynchronize(stream.get()));
            CAPTURE(kind, features, samples, device.products_by());
            CHECK(difference_by_tensor(model->tensors(), gradient.read(), expected, bounds) == "");
            CHECK(result.read()[0] == Approx(right.loss_sum).epsilon(1e-3));
        }
    }
}

TEST_CASE("device network: replicas together have the gradients of each alone", "[gpu]") {
    if (!device_answers()) return;
    constexpr int replicas = 3;
    constexpr int samples = 5;  // of each
    for (const std::string_view kind : model_kinds()) {
        if (kind == left_out) continue;
        const DataSet data = images(kind.starts_with("resnet") ? 3 * 32 * 32 : 28 * 28, 64);
        const ModelSpec spec = spec_of(kind);
        const auto model = make_model(spec, data);
        const ImageNetwork network = network_of(spec, data.features, data.classes);
        const auto workspace = model->make_workspace();
        const auto [first, bounds] = start_of(*model, 1);
        std::vector<float> weights;
        std::vector<float> expected;
        std::vector<double> losses;
        for (std::uint32_t r = 0; r < replicas; ++r) {
            const std::vector<float> own = start_of(*model, r + 1).weights;
            weights.insert(weights.end(), own.begin(), own.end());
            std::vector<std::uint32_t> order(samples);
            std::iota(order.begin(), order.end(), r * samples);
            std::vector<float> gradient(own.size(), 0.0F);
            losses.push_back(model->gradient(own, data, order, gradient, *workspace, {}).loss_sum);
            for (const float value : gradient) expected.push_back(value / samples);
        }
        for (const auto use : product_uses) {
            const Stream stream = make_stream();
            DeviceNetwork device(network, replicas * samples, stream.get(), use, replicas);
            const Buffer<float> device_weights(weights);
            const Buffer<float> values(
                std::span(data.values)
                    .first(static_cast<std::size_t>(replicas * samples * data.features)));
            const Buffer<std::uint8_t> labels(data.labels);
            const Buffer<float> gradient(weights.size());
            const Buffer<double> result(2 * replicas);
            device.gradient(device_weights.data(), values.data(), labels.data(), replicas * samples,
                            gradient.data(), result.data());
            check(cudaStreamSynchronize(stream.get()));
            CAPTURE(kind, device.products_by());
            const std::vector<float> found = gradient.read();
            for (std::size_t r = 0; r < replicas; ++r) {
                const auto own = [&](const std::vector<float>& of) {
                    return std::span(of).subspan(r * first.size(), first.size());
                };
                CHECK(difference_by_tensor(model->tensors(), own(found), own(expected), bounds) ==
                      "");
            }
            for (std::size_t r = 0; r < replicas; ++r) {
                CHECK(result.read()[2 * r] == Approx(losses[r]).epsilon(1e-3));
            }
        }
    }
}

namespace {

// The least with a normalisation that is not the first layer.
ImageNetwork normalising_network() {
    const ImageShape image{1, 4, 4};
    const ImageShape planes{2, 4, 4};
    ImageLayer input;
    input.out = image;
    ImageLayer convolution{.kind = LayerKind::convolution, .in = image, .out = planes};
    convolution.kernel = 3;
    convolution.padding = 1;
    convolution.weight_count = 18;
    convolution.tensor_count = 1;
    ImageLayer norm{.kind = LayerKind::normalisation, .from = 1, .in = planes, .out = planes};
    norm.weight = 18;
    norm.bias = 20;
    norm.weight_count = norm.bias_count = norm.tensor_count = 2;
    norm.first_tensor = 1;
    ImageLayer dense{.kind = LayerKind::dense, .from = 2, .in = planes, .out = {10, 1, 1}};
    dense.weight = 22;
    dense.weight_count = 320;
    dense.bias = 342;
    dense.bias_count = 10;
    dense.first_tensor = 3;
    dense.tensor_count = 2;
    return {.kind = "normalising",
            .layers = {input, convolution, norm, dense},
            .tensors = {{"conv.weight", 0, 18},
                        {"norm.weight", 18, 2},
                        {"norm.bias", 20, 2},
                        {"dense.weight", 22, 320},
                        {"dense.bias", 342, 10}},
            .parameter_count = 352};
}

}  // namespace

TEST_CASE("device network: statistics are of as many samples as on the CPU, whatever the batch",
          "[gpu]") {
    if (!device_answers()) return;
    constexpr int each = image_samples_max + 72;
    const ImageNetwork network = normalising_network();
    const DataSet data = images(4 * 4, 2 * each);
    const std::vector<double> exact = network.initial_weights(1);
    std::vector<float> weights;
    for (int r = 0; r < 2; ++r) {
        for (const double weight : exact) weights.push_back(static_cast<float>(weight));
    }
    const std::span<const float> one(weights.data(), network.parameter_count);
    ImageGradient<float> on_cpu(network);
    for (const int replicas : {1, 2}) {
        const Stream stream = make_stream();
        DeviceNetwork device(network, replicas * each, stream.get(),
                             MatrixProducts::Use::cublas_if_there, replicas);
        const Buffer<float> device_weights(weights);
        const Buffer<float> values(data.values);
        const Buffer<std::uint8_t> labels(data.labels);
        const Buffer<float> gradient(weights.size());
        const Buffer<double> result(4);
        std::vector<std::size_t> finished;
        device.sum_gradient(device_weights.data(), values.data(), labels.data(), replicas * each,
                            gradient.data(), result.data(),
                            [&](std::size_t node) { finished.push_back(node); });
        check(cudaStreamSynchronize(stream.get()));
        CHECK(finished == std::vector<std::size_t>{3, 2, 1});  // once each
        const std::vector<float> found = gradient.read();
        for (std::size_t r = 0; r < static_cast<std::size_t>(replicas); ++r) {
            std::vector<std::uint32_t> order(each);
            std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(r * each));
            std::vector<float> expected(one.size(), 0.0F);
            const double loss = on_cpu.gradient(one, data, order, expected, {}).loss_sum;
            const auto own = std::span(found).subspan(r * one.size(), one.size());
            CAPTURE(replicas, r, device.products_by());
            CHECK(difference_by_tensor(network.tensors, own, expected, {1e-4, 1e-6}) == "");
            CHECK(result.read()[2 * r] == Approx(loss).epsilon(1e-5));
        }
    }
}

namespace {

// What there is of learners on a device after each of a row of changes.
struct Trail {
    std::vector<std::vector<float>> models;
    std::vector<double> losses;
};

struct LearningCase {
    LearningCase()
        : data(images(28 * 28, 256)),
          model(make_model(spec_of("lenet5"), data)),
          network(network_of(spec_of("lenet5"), data.features, data.classes)),
          first(model->initial_weights(1)) {}

    void note(LearnerDevice& device, const LearnerEngine& engine, double loss, Trail& trail) const {
        trail.models.push_back(device.central());
        for (int learner = 0; learner < engine.learners_per_gpu(); ++learner) {
            trail.models.push_back(device.weights(learner));
        }
        trail.losses.push_back(loss);
    }
    // 3 learners, 4, 2 and again 4; then all begin anew at a model that was moving.
    Trail trail_of(LearnerDevice& device) const {
        InputPipeline input(
            data, {.batch = learner_batch, .threads = 2, .ready_most = 16, .seed = 5, .change = {}},
            [&](std::size_t bytes) { return device.pinned(bytes); });
        EngineSettings settings;
        settings.learners_per_gpu = 3;
        settings.binding = Binding::fixed;
        settings.step = {{0.9F, 1e-4F, 0.01F}, 0.25F};
        settings.central_momentum = 0.5F;
        LearnerEngine engine(device, input, settings);
        Trail trail;
        note(device, engine, engine.run(3).loss, trail);
        for (const int learners : {4, 2, 4}) {
            engine.set_learners(learners);
            note(device, engine, 0, trail);  // who is new is at the centre
            note(device, engine, engine.run(2).loss, trail);
        }
        const std::vector<float> other = model->initial_weights(2);
        std::vector<float> before = other;  // z − z_prev ≠ 0
        for (float& value : before) value *= 0.99F;
        device.restart(other, before);
        note(device, engine, 0, trail);
        note(device, engine, engine.run(2).loss, trail);
        return trail;
    }

    DataSet data;
    std::unique_ptr<Model> model;
    ImageNetwork network;
    std::vector<float> first;
};

void check_trail(const Trail& found, const Trail& expected) {
    REQUIRE(found.models.size() == expected.models.size());
    for (std::size_t i = 0; i < expected.models.size(); ++i) {
        CAPTURE(i);
        CHECK(difference_beyond("model", found.models[i], expected.models[i], 1e-2) == "");
    }
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
        CHECK(found.losses[i] == Approx(expected.losses[i]).epsilon(1e-2));
    }
}

}  // namespace

TEST_CASE("learning case: threads side by side and batched leave one trail", "[learners]") {
    const LearningCase one;
    const auto [features, classes] = std::pair(one.data.features, one.data.classes);
    const Trail beside = one.trail_of(*make_cpu_device(*one.model, features, classes, one.first));
    const Trail batched =
        one.trail_of(*studies::make_cpu_batched_device(*one.model, features, classes, one.first));
    CHECK(beside.models == batched.models);
    CHECK(beside.losses == batched.losses);
}

TEST_CASE("cuda device: other numbers of learners and a restart leave what they leave of threads",
          "[gpu]") {
    if (!device_answers()) return;
    const LearningCase one;
    const Trail expected =
        one.trail_of(*make_cpu_device(*one.model, one.data.features, one.data.classes, one.first));
    for (const int graphs : trail_graph_samples) {
        CAPTURE(graphs);
        CudaDeviceSettings settings;
        settings.graph_samples_most = graphs;
        check_trail(one.trail_of(*make_cuda_device(one.network, one.first, settings)), expected);
        check_trail(
            one.trail_of(*studies::make_cuda_batched_device(one.network, one.first, settings)),
            expected);
    }
}

TEST_CASE("cuda device: learners average as threads do, with graphs and without", "[gpu]") {
    if (!device_answers()) return;
    const DataSet data = images(28 * 28, 256);
    const ModelSpec spec = spec_of("lenet5");
    const auto model = make_model(spec, data);
    const ImageNetwork network = network_of(spec, data.features, data.classes);
    const std::vector<float> weights = model->initial_weights(1);
    const auto central_after = [&](LearnerDevice& device) {
        InputPipeline input(
            data, {.batch = learner_batch, .threads = 2, .ready_most = 16, .seed = 5, .change = {}},
            [&](std::size_t bytes) { return device.pinned(bytes); });
        EngineSettings settings;
        settings.learners_per_gpu = 3;
        settings.binding = Binding::fixed;
        settings.step = {{0.9F, 1e-4F, 0.01F}, 0.25F};
        settings.central_momentum = 0.5F;
        LearnerEngine engine(device, input, settings);
        CHECK(engine.run(5).outcome == Outcome::ok);
        return device.central();
    };
    const auto expected =
        central_after(*make_cpu_device(*model, data.features, data.classes, weights));
    for (const int graphs : graph_samples) {
        CAPTURE(graphs);
        CudaDeviceSettings settings;
        settings.graph_samples_most = graphs;
        const auto found = central_after(*make_cuda_device(network, weights, settings));
        CHECK(difference_beyond("central", found, expected, 1e-2) == "");
        for (const auto use : product_uses) {
            settings.products = use;
            const auto batched =
                central_after(*studies::make_cuda_batched_device(network, weights, settings));
            CHECK(difference_beyond("central, batched", batched, expected, 1e-2) == "");
        }
    }
}
