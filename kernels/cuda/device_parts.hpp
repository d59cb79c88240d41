// device_parts.hpp — what both devices of learners need of a stream: pinned memory, work captured
// as a graph, and a word to the host when a task is over. For sources only.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/handles.hpp"
#include "kernels/learners/learner_device.hpp"

namespace ukemi::kernels::cuda {

using Graph = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

inline Event make_plain_event() {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreateWithFlags(&raw, cudaEventDisableTiming));
    return Event(raw);
}

// For whom a thread waits: it sleeps meanwhile, because others have work for its core.
inline Event make_waiting_event() {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreateWithFlags(&raw, cudaEventDisableTiming | cudaEventBlockingSync));
    return Event(raw);
}

inline std::shared_ptr<std::byte> pinned_memory(std::size_t bytes) {
    void* raw = nullptr;
    check(cudaHostAlloc(&raw, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault));
    return {static_cast<std::byte*>(raw),
            [](std::byte* memory) { static_cast<void>(cudaFreeHost(memory)); }};
}

// What `launch` puts on the stream, as one graph.
template <class Launch>
Graph captured(cudaStream_t stream, Launch launch) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
        launch();
    } catch (...) {  // or the stream takes nothing else any more
        static_cast<void>(cudaStreamEndCapture(stream, &graph));
        if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
        throw;
    }
    check(cudaStreamEndCapture(stream, &graph));
    const Handle<cudaGraph_t, cudaGraphDestroy> whole(graph);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0));
    return Graph(executable);
}

// Launches what is the same for every batch of so many samples, as a graph from its second time on:
// code and libraries are loaded when they are first used, and a capture bears no allocation.
template <class Samples, class Launch>
void launch_as_graph(std::map<Samples, std::optional<Graph>>& graphs, Samples samples,
                     cudaStream_t stream, const Launch& launch) {
    const auto [graph, is_first] = graphs.try_emplace(samples);
    if (is_first) return launch();
    if (!graph->second) graph->second = captured(stream, launch);
    check(cudaGraphLaunch(graph->second->get(), stream));
}

// A stream of this device, which is the thread's from now on.
inline Stream stream_on(int device) {
    check(cudaSetDevice(device));
    return make_stream();
}

// Lets `exchange` sum what devices have in `sum`, once all that is on the stream has been done:
// where it lies, or in host memory.
inline Outcome exchange_sum(const LearnerDevice::Exchange& exchange, Buffer<float>& sum,
                            bool on_host, cudaStream_t stream) {
    check(cudaStreamSynchronize(stream));  // the exchange has a stream of its own
    if (!on_host) return exchange({sum.data(), sum.size()});
    std::vector<float> values = sum.read();
    const Outcome outcome = exchange(values);
    if (outcome == Outcome::ok) sum.fill(values);
    return outcome;
}

// Tells the host when what is on a stream now is over: results, two numbers a task, are in pinned
// memory by then. After an error of the device CUDA calls nothing back; what is then left goes with
// this object, which outlives its streams' work.
class Endings {
public:
    void launch(std::vector<LearnerDevice::Done> done, const double* results, cudaStream_t stream) {
        auto made = std::make_unique<Ending>(Ending{this, std::move(done), results});
        Ending* ending = made.get();
        {
            const std::lock_guard lock(mutex_);
            expected_.push_back(std::move(made));
        }
        // Not under the lock: it may wait for callbacks, and they take it.
        const cudaError_t code = cudaLaunchHostFunc(stream, tell, ending);
        if (code != cudaSuccess) static_cast<void>(take(ending));
        check(code);
    }

private:
    struct Ending {
        Endings* owner;
        std::vector<LearnerDevice::Done> done;
        const double* results;
    };
    std::unique_ptr<Ending> take(const Ending* wanted) {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(expected_, wanted, &std::unique_ptr<Ending>::get);
        std::unique_ptr<Ending> ending = std::move(*found);
        expected_.erase(found);
        return ending;
    }
    static void CUDART_CB tell(void* given) {
        auto* told = static_cast<Ending*>(given);
        const std::unique_ptr<Ending> ending = told->owner->take(told);
        const double* result = ending->results;
        for (const LearnerDevice::Done& done : ending->done) {
            const BatchResult of_task{result[0], result[1]};
            result += 2;
            done(of_task);
        }
    }
    std::mutex mutex_;
    std::vector<std::unique_ptr<Ending>> expected_;
};

}  // namespace ukemi::kernels::cuda
