// on_host_test.cpp — that the stand-in for a device is as strict as one: only then do the tests for
// a GPU, which run on it here, say anything about our code. And what is timed on a device.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <thread>

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/device_model.hpp"
#include "kernels/cuda/device_parts.hpp"
#include "kernels/machine_costs.hpp"

using namespace ukemi;
using namespace ukemi::cuda;

namespace {

// For all calls that ought to fail: the error is the runtime's, and is forgotten.
cudaError_t forgotten(cudaError_t code) {
    static_cast<void>(cudaGetLastError());
    return code;
}

}  // namespace

TEST_CASE("device on the host: new memory is no number, and copies keep to their allocation",
          "[cuda_on_host]") {
    const Buffer<float> buffer(8);
    CHECK(std::isnan(buffer.read()[7]));
    std::vector<float> nine(9, 1.0F);
    CHECK(forgotten(cudaMemcpy(buffer.data(), nine.data(), 9 * sizeof(float),
                               cudaMemcpyHostToDevice)) == cudaErrorInvalidValue);
    CHECK(forgotten(cudaMemcpy(nine.data(), buffer.data() + 1, 8 * sizeof(float),
                               cudaMemcpyDeviceToHost)) == cudaErrorInvalidValue);
    CHECK(forgotten(cudaMemcpy(nine.data(), nine.data(), 4, cudaMemcpyDeviceToHost)) ==
          cudaErrorInvalidValue);
}

TEST_CASE("device on the host: pinned memory is read when the copy runs, other memory before",
          "[cuda_on_host]") {
    const Stream stream = make_stream();
    const Stream gate = make_stream();
    const Event open = make_event();
    const auto pinned = pinned_memory(sizeof(float));
    auto& value = *reinterpret_cast<float*>(pinned.get());
    const Buffer<float> late(1);
    const Buffer<float> early(1);
    std::atomic<bool> may_go = false;
    check(cudaLaunchHostFunc(
        gate.get(),
        [](void* given) {
            while (!*static_cast<std::atomic<bool>*>(given)) std::this_thread::yield();
        },
        &may_go));
    check(cudaEventRecord(open.get(), gate.get()));
    check(cudaStreamWaitEvent(stream.get(), open.get(), 0));
    value = 1;
    float pageable = 1;
    check(cudaMemcpyAsync(late.data(), &value, 4, cudaMemcpyHostToDevice, stream.get()));
    check(cudaMemcpyAsync(early.data(), &pageable, 4, cudaMemcpyHostToDevice, stream.get()));
    value = 2;
    pageable = 2;
    CHECK(cudaStreamQuery(stream.get()) == cudaErrorNotReady);
    may_go = true;
    check(cudaStreamSynchronize(stream.get()));
    CHECK(late.read().front() == 2);
    CHECK(early.read().front() == 1);
}

TEST_CASE("device on the host: who captures neither allocates nor waits", "[cuda_on_host]") {
    const Stream stream = make_stream();
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    void* memory = nullptr;
    CHECK(forgotten(cudaMalloc(&memory, 4)) == cudaErrorStreamCaptureUnsupported);
    CHECK(forgotten(cudaStreamSynchronize(stream.get())) == cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph));
    check(cudaGraphDestroy(graph));
    check(cudaMalloc(&memory, 4));
    check(cudaFree(memory));
}

TEST_CASE("device model: parts of a gradient come from the last tensors to the first, complete",
          "[cuda_on_host]") {
    const DataSet data = load_data({.kind = "synthetic",
                                    .images = {},
                                    .labels = {},
                                    .samples = 40,
                                    .features = 28 * 28,
                                    .classes = 10,
                                    .seed = 6});
    const ModelSpec spec{.kind = "mlp", .hidden = {60, 40, 30}};
    for (const std::size_t part_bytes :
         {std::size_t{1}, std::size_t{8} << 10, std::size_t{1} << 30}) {
        DeviceModelSettings settings;
        settings.part_bytes = part_bytes;
        const auto model = make_device_model(spec, data, settings);
        const auto workspace = model->make_workspace();
        std::vector<std::uint32_t> samples(40);
        std::iota(samples.begin(), samples.end(), 0U);
        std::vector<float> gradient(model->parameter_count(), 1.0F);
        std::vector<std::size_t> order;
        std::vector<std::vector<float>> when_finished;
        const auto slice = [&](std::size_t tensor) {
            const TensorSlice& one = model->tensors()[tensor];
            const auto begin = gradient.begin() + static_cast<std::ptrdiff_t>(one.begin);
            return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(one.count));
        };
        model->gradient(model->initial_weights(1), data, samples, gradient, *workspace,
                        [&](std::size_t tensor) {
                            order.push_back(tensor);
                            when_finished.push_back(slice(tensor));
                        });
        CAPTURE(part_bytes);
        REQUIRE(order == std::vector<std::size_t>{7, 6, 5, 4, 3, 2, 1, 0});
        for (std::size_t i = 0; i < order.size(); ++i) CHECK(when_finished[i] == slice(order[i]));
        std::vector<float> again(gradient.size(), 1.0F);
        model->gradient(model->initial_weights(1), data, samples, again, *workspace, {});
        CHECK(again == gradient);
    }
}

TEST_CASE("measured device: copies and kernels of a GPU are compared and timed", "[cuda_on_host]") {
    const auto device = cuda_backend().measured_device();
    REQUIRE(device);
    const MachineCosts costs = measure_machine({.ranks = 1,
                                                .warm_up = 1,
                                                .operations = 3,
                                                .bytes_most = 4 << 10,
                                                .device = device.get(),
                                                .device_bytes_most = 64 << 10});
    CHECK(costs.device_memory_bytes == std::int64_t{1} << 30);
    const auto names = device->works();
    CHECK(costs.curves.size() == names.size() + 1);
    CHECK(costs.curves.back().name == "host copy");
    for (const MachineCurve& curve : costs.curves) {
        CAPTURE(curve.name);
        CHECK(curve.points.size() == (curve.name == "host copy" ? 1 : 2));
        for (const MachinePoint& point : curve.points) {
            CHECK(point.wrong == 0);
            CHECK(point.times.s.size() == 3);
        }
    }
    for (const char* name : {"copy", "copy host to device, pinned", "copy device to host, pageable",
                             "codec top_k", "codec power_sgd", "monitor noise_step"}) {
        CHECK(std::ranges::count(names, name) == 1);
    }
}
