// device_parts.hpp — what both devices of learners need of a stream: pinned memory, work captured
// as a graph, and a word to the host when a task is over. For sources only.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/handles.hpp"
#include "kernels/learners/learner_device.hpp"

namespace ukemi::cuda {

using Graph = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

inline Event make_plain_event() {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreateWithFlags(&raw, cudaEventDisableTiming));
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
    launch();
    check(cudaStreamEndCapture(stream, &graph));
    const Handle<cudaGraph_t, cudaGraphDestroy> whole(graph);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0));
    return Graph(executable);
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

// Tells the host when what is on the stream now is over: results, two numbers a task, are in pinned
// memory by then.
class Ending {
public:
    static void launch(std::vector<LearnerDevice::Done> done, const double* results,
                       cudaStream_t stream) {
        auto ending = std::unique_ptr<Ending>(new Ending(std::move(done), results));
        check(cudaLaunchHostFunc(stream, tell, ending.get()));
        static_cast<void>(ending.release());  // its callback's now
    }

private:
    Ending(std::vector<LearnerDevice::Done> done, const double* results)
        : done_(std::move(done)), results_(results) {}
    static void CUDART_CB tell(void* given) {
        const std::unique_ptr<Ending> ending(static_cast<Ending*>(given));
        const double* result = ending->results_;
        for (const LearnerDevice::Done& done : ending->done_) {
            const BatchResult ended{result[0], result[1]};
            result += 2;
            done(ended);
        }
    }
    std::vector<LearnerDevice::Done> done_;
    const double* results_;
};

}  // namespace ukemi::cuda
