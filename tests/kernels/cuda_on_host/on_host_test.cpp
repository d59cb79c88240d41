// on_host_test.cpp — that the stand-in for a device is as strict as one: only then do the tests for
// a GPU, which run on it here, say anything about our code. And what is timed on a device.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/device_model.hpp"
#include "kernels/cuda/device_parts.hpp"
#include "kernels/machine_costs.hpp"
#include "tests/kernels/cuda_on_host/device_code.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::kernels::cuda;

namespace {

// For all calls that ought to fail: the error is the runtime's, and is forgotten.
cudaError_t forgotten(cudaError_t code) {
    static_cast<void>(cudaGetLastError());
    return code;
}

std::vector<unsigned> order_of_blocks;
std::vector<unsigned> order_of_threads;
std::vector<unsigned> found_alike;

// Fills `out` in order, but for what a block finds of the one before it.
void leans_on_block_before(int* out) {
    const int before = blockIdx.x == 0 ? 0 : out[blockIdx.x - 1];
    out[blockIdx.x] = before + 1;
}
void notes_order() {
    if (threadIdx.x == 0) order_of_blocks.push_back(blockIdx.x);
    if (blockIdx.x == 0) order_of_threads.push_back(threadIdx.x);
}
// Even lanes have one value, odd lanes another, and the last lane nothing to say.
void notes_alike() {
    if (threadIdx.x == 31) return;
    found_alike.push_back(__match_any_sync(__activemask(), threadIdx.x % 2));
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

TEST_CASE("device on the host: blocks and threads come in orders that change with the launch",
          "[cuda_on_host]") {
    const Stream stream = make_stream();
    std::set<std::vector<unsigned>> blocks;
    std::set<std::vector<unsigned>> threads;
    int right = 0;
    const std::vector<int> in_order{1, 2, 3, 4, 5};
    for (int launch = 0; launch < 20; ++launch) {
        order_of_blocks.clear();
        order_of_threads.clear();
        on_host::launch_of(notes_order, 5, 8, 0, stream.get())();
        Buffer<int> out(std::vector<int>(5, 0));
        on_host::launch_of(leans_on_block_before, 5, 1, 0, stream.get())(out.data());
        check(cudaStreamSynchronize(stream.get()));
        right += out.read() == in_order ? 1 : 0;
        blocks.insert(order_of_blocks);
        threads.insert(order_of_threads);
        std::ranges::sort(order_of_blocks);
        CHECK(order_of_blocks == std::vector<unsigned>{0, 1, 2, 3, 4});
    }
    CHECK(right < 15);
    CHECK(blocks.size() > 3);
    CHECK(threads.size() > 3);
}

TEST_CASE("device on the host: lanes that are together find who is alike, others themselves",
          "[cuda_on_host]") {
    const Stream stream = make_stream();
    std::set<std::vector<unsigned>> found;
    for (int launch = 0; launch < 20; ++launch) {
        found_alike.clear();
        on_host::launch_of(notes_alike, 1, 32, 0, stream.get())();
        check(cudaStreamSynchronize(stream.get()));
        std::ranges::sort(found_alike);
        found.insert(found_alike);
    }
    std::vector<unsigned> alone;
    std::vector<unsigned> together(16, 0x5555'5555U);
    for (unsigned lane = 0; lane < 31; ++lane) alone.push_back(1U << lane);
    together.insert(together.begin(), 15, 0x2AAA'AAAAU);
    CHECK(found == std::set<std::vector<unsigned>>{alone, together});
}

TEST_CASE("device on the host: what a block shares is no number at first", "[cuda_on_host]") {
    static float memory = 0;
    static std::uint64_t is_of = 0;
    on_host::here.block_number = 1'000'000;
    on_host::begin_shared(memory, is_of);
    CHECK(std::isnan(memory));
    memory = 1;
    on_host::begin_shared(memory, is_of);
    CHECK(memory == 1);
    ++on_host::here.block_number;
    on_host::begin_shared(memory, is_of);
    CHECK(std::isnan(memory));
}

TEST_CASE("device on the host: a callback may call nothing, a capture records nothing",
          "[cuda_on_host]") {
    struct Tried {
        cudaStream_t stream;
        cudaEvent_t event;
        std::vector<cudaError_t> codes;
    };
    const Stream stream = make_stream();
    const Event event = make_event();
    Tried tried{stream.get(), event.get(), {}};
    check(cudaLaunchHostFunc(
        stream.get(),
        [](void* given) {
            auto& all = *static_cast<Tried*>(given);
            cudaStream_t made_stream = nullptr;
            cudaEvent_t made_event = nullptr;
            all.codes = {cudaEventRecord(all.event, all.stream),
                         cudaStreamWaitEvent(all.stream, all.event, 0),
                         cudaGraphLaunch(nullptr, all.stream),
                         cudaLaunchHostFunc(all.stream, nullptr, nullptr),
                         cudaStreamCreateWithFlags(&made_stream, cudaStreamNonBlocking),
                         cudaEventCreate(&made_event),
                         cudaStreamDestroy(all.stream),
                         cudaEventDestroy(all.event)};
        },
        &tried));
    check(cudaStreamSynchronize(stream.get()));
    CHECK(tried.codes == std::vector<cudaError_t>(8, cudaErrorNotPermitted));
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    CHECK(forgotten(cudaEventRecord(event.get(), stream.get())) == cudaErrorStreamCaptureIsolation);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph));
    check(cudaGraphDestroy(graph));
}

TEST_CASE("device on the host: streams, events and memory belong to the device of their thread",
          "[cuda_on_host]") {
    ::setenv("UKEMI_ON_HOST_DEVICES", "2", 1);
    {
        const Stream on_first = make_stream();
        const Event of_first = make_event();
        check(cudaSetDevice(1));
        const Stream on_second = make_stream();
        const Buffer<int> memory(1);
        cudaPointerAttributes about{};
        check(cudaPointerGetAttributes(&about, memory.data()));
        CHECK(about.device == 1);
        CHECK(forgotten(cudaEventRecord(of_first.get(), on_second.get())) ==
              cudaErrorInvalidResourceHandle);
        CHECK(cudaStreamWaitEvent(on_second.get(), of_first.get(), 0) == cudaSuccess);
        on_host::launch_of(leans_on_block_before, 1, 1, 0, on_first.get())(memory.data());
        CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
        on_host::launch_of(leans_on_block_before, 1, 1, 0, on_second.get())(memory.data());
        CHECK(cudaGetLastError() == cudaSuccess);
        check(cudaStreamSynchronize(on_second.get()));
    }
    check(cudaSetDevice(0));
    ::unsetenv("UKEMI_ON_HOST_DEVICES");
}

TEST_CASE("device on the host: a stream's end waits for nothing, and its work is done",
          "[cuda_on_host]") {
    std::atomic<bool> may_go = false;
    const Event over = make_event();
    {
        const Stream stream = make_stream();
        check(cudaLaunchHostFunc(
            stream.get(),
            [](void* given) {
                while (!*static_cast<std::atomic<bool>*>(given)) std::this_thread::yield();
            },
            &may_go));
        check(cudaEventRecord(over.get(), stream.get()));
    }
    may_go = true;  // who waited in the stream's end would not come here
    CHECK(cudaEventSynchronize(over.get()) == cudaSuccess);
}

TEST_CASE("cuda backend: a GPU that is too old for the code is none that can be used",
          "[cuda_on_host]") {
    CHECK(gpu_unusable().empty());
    ::setenv("UKEMI_ON_HOST_CAPABILITY", "75", 1);
    const std::string why = gpu_unusable();
    CHECK_THAT(why, Catch::EndsWith("has compute capability 7.5"));
    CHECK_THAT(cuda_backend().refusal(), Catch::StartsWith(why + "; this build has CUDA"));
    ::unsetenv("UKEMI_ON_HOST_CAPABILITY");
}

TEST_CASE("device model: who throws while parts come leaves the next gradient alone",
          "[cuda_on_host]") {
    const DataSet data = load_data({.kind = "synthetic",
                                    .images = {},
                                    .labels = {},
                                    .samples = 40,
                                    .features = 28 * 28,
                                    .classes = 10,
                                    .seed = 6});
    DeviceModelSettings settings;
    settings.part_bytes = 1;
    const auto model = make_device_model({.kind = "mlp", .hidden = {60, 40}}, data, settings);
    const auto workspace = model->make_workspace();
    const std::vector<float> weights = model->initial_weights(1);
    const std::vector<std::uint32_t> few{1, 2, 3};
    const std::vector<std::uint32_t> more{4, 5, 6, 7, 8, 9, 10};
    const auto gradient_of = [&](Model::Workspace& in) {
        std::vector<float> gradient(weights.size(), 0.0F);
        model->gradient(weights, data, more, gradient, in, {});
        return gradient;
    };
    const std::vector<float> right = gradient_of(*model->make_workspace());
    std::vector<float> unfinished(weights.size(), 0.0F);
    const auto stops = [](std::size_t) { throw std::runtime_error("stop"); };
    CHECK_THROWS_AS(model->gradient(weights, data, few, unfinished, *workspace, stops),
                    std::runtime_error);
    CHECK(gradient_of(*workspace) == right);
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
