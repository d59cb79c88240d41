// runtime.cpp — the part of CUDA's runtime that our code calls, with one host thread in the
// device's place.
//
// It is as unhelpful as a device may be: what is put on a stream runs later, and of several streams
// in any order that events allow; new memory is full of what is no number; copies from pinned
// memory read it when they run. What a device forbids is an error here too: copies over the end of
// an allocation, allocating or waiting while this thread captures a graph, a kernel on the default
// stream or on one of another device than the thread's, a call out of a callback. Times mean
// nothing.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/kernels/cuda_on_host/threads.hpp"

namespace {

using ukemi::on_host::run_grid;

struct EventState {
    std::int64_t recorded = 0;  // how often it has been asked for, and …
    std::int64_t reached = 0;   // … how many of them have happened
    std::chrono::steady_clock::time_point at;
};
using Shared = std::shared_ptr<EventState>;

struct Operation {
    std::function<void()> run;
    Shared waits_for;  // until it has been reached so often
    std::int64_t count = 0;
    Shared reaches;
    bool calls_back = false;
};

thread_local cudaError_t last_error = cudaSuccess;
thread_local int captures = 0;  // of this thread
thread_local bool in_callback = false;
thread_local int current_device = 0;

cudaError_t wrong(cudaError_t code) {
    last_error = code;
    return code;
}

}  // namespace

// Names of the API's own opaque types.
struct CUgraph_st {
    std::vector<Operation> operations;
};
struct CUgraphExec_st {
    std::vector<Operation> operations;
};
struct CUevent_st {
    Shared state = std::make_shared<EventState>();
    int device = current_device;
};
struct CUstream_st {
    std::deque<Operation> operations;
    bool busy = false;
    bool destroyed = false;
    int device = current_device;
    std::uint64_t place = 0;
    std::unique_ptr<CUgraph_st> captured;
};

namespace {

class Device {
public:
    static Device& only() {
        static Device device;
        return device;
    }
    ~Device() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        worker_.join();
    }

    void add(cudaStream_t stream) {
        const std::lock_guard lock(mutex_);
        stream->place = draw();
        streams_.push_back(stream);
    }
    // At once: what is on the stream is still done, as by a device.
    void destroy(cudaStream_t stream) {
        const std::lock_guard lock(mutex_);
        stream->destroyed = true;
        if (stream->operations.empty() && !stream->busy) forget(stream);
    }
    cudaError_t put(cudaStream_t stream, Operation operation) {
        if (stream == nullptr) return wrong(cudaErrorInvalidResourceHandle);
        {
            const std::lock_guard lock(mutex_);
            if (stream->captured) {
                stream->captured->operations.push_back(std::move(operation));
                return cudaSuccess;
            }
            stream->operations.push_back(std::move(operation));
        }
        changed_.notify_all();
        return cudaSuccess;
    }
    bool is_done(cudaStream_t stream) {
        const std::lock_guard lock(mutex_);
        return stream->operations.empty() && !stream->busy;
    }
    template <class Condition>
    void wait(Condition condition) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, condition);
    }
    void wait_for_all() {
        wait([&] {
            return std::ranges::all_of(
                streams_, [](auto* one) { return one->operations.empty() && !one->busy; });
        });
    }
    std::mutex& mutex() { return mutex_; }

    void* allocate(std::size_t bytes, bool on_device) {
        auto* memory = static_cast<unsigned char*>(std::malloc(bytes));
        std::memset(memory, 0xFF, bytes);  // as float or double no number
        const std::lock_guard lock(mutex_);
        (on_device ? device_ : pinned_)[memory] = {bytes, current_device};
        return memory;
    }
    bool release(void* memory, bool on_device) {
        wait_for_all();
        const std::lock_guard lock(mutex_);
        if ((on_device ? device_ : pinned_).erase(static_cast<unsigned char*>(memory)) == 0) {
            return false;
        }
        std::free(memory);
        return true;
    }
    // Of the two, whichever has it: bytes from there to its end.
    std::size_t left_on_device(const void* memory) { return left(device_, memory); }
    std::size_t left_pinned(const void* memory) { return left(pinned_, memory); }
    int device_of(const void* memory) { return found_in(device_, memory).device; }

private:
    struct Allocation {
        std::size_t bytes = 0;
        int device = 0;
    };
    using Allocations = std::map<unsigned char*, Allocation>;

    Device() : worker_([this] { work(); }) {}

    // What is left of it from there on; nothing where there is none.
    Allocation found_in(const Allocations& among, const void* memory) {
        const std::lock_guard lock(mutex_);
        auto* at = static_cast<unsigned char*>(const_cast<void*>(memory));
        auto found = among.upper_bound(at);
        if (found == among.begin()) return {};
        --found;
        const auto offset = static_cast<std::size_t>(at - found->first);
        const Allocation& whole = found->second;
        return {offset < whole.bytes ? whole.bytes - offset : 0, whole.device};
    }
    std::size_t left(const Allocations& among, const void* memory) {
        return found_in(among, memory).bytes;
    }

    void forget(cudaStream_t stream) {
        std::erase(streams_, stream);
        delete stream;
    }
    static bool can_run(const Operation& operation) {
        return !operation.waits_for || operation.waits_for->reached >= operation.count;
    }
    std::uint64_t draw() {
        drawn_ = drawn_ * 6364136223846793005U + 1442695040888963407U;
        return drawn_ >> 33U;
    }
    // The stream with the best place among those that can go on; places change seldom. So a stream
    // waits long for no reason, and what others ought to have waited for comes too late.
    cudaStream_t any_stream() {
        if (draw() % 64 == 0) {
            for (cudaStream_t stream : streams_) stream->place = draw();
        }
        cudaStream_t best = nullptr;
        for (cudaStream_t stream : streams_) {
            const bool able = !stream->operations.empty() && can_run(stream->operations.front());
            if (able && (best == nullptr || stream->place < best->place)) best = stream;
        }
        return best;
    }
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            cudaStream_t stream = nullptr;
            changed_.wait(lock, [&] { return ending_ || (stream = any_stream()) != nullptr; });
            if (stream == nullptr) return;
            Operation operation = std::move(stream->operations.front());
            stream->operations.pop_front();
            stream->busy = true;
            const bool gives_way = drawn_ % 16 == 0;  // hosts run ahead of devices
            lock.unlock();
            if (gives_way) std::this_thread::yield();
            in_callback = operation.calls_back;
            if (operation.run) operation.run();
            in_callback = false;
            operation.run = nullptr;
            lock.lock();
            if (operation.reaches) {
                ++operation.reaches->reached;
                operation.reaches->at = std::chrono::steady_clock::now();
            }
            stream->busy = false;
            if (stream->destroyed && stream->operations.empty()) forget(stream);
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<cudaStream_t> streams_;
    Allocations device_;
    Allocations pinned_;
    std::uint64_t drawn_ = 1;
    bool ending_ = false;
    std::thread worker_;
};

Device& device() { return Device::only(); }

constexpr std::size_t devices_most = 16;
// Several devices are one in all but their names; so a process may have one of its own.
int devices() {
    const char* count = std::getenv("UKEMI_ON_HOST_DEVICES");
    return count == nullptr ? 1 : std::clamp(std::atoi(count), 1, static_cast<int>(devices_most));
}

cudaMemcpyKind kind_of(const void* to, const void* from) {
    const bool into = device().left_on_device(to) > 0;
    const bool out_of = device().left_on_device(from) > 0;
    if (into) return out_of ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return out_of ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

std::array<std::atomic<std::int64_t>, devices_most> calls_of_device;

// What a call may not be made in; success: it may, and the thread's device has a context from now
// on, whatever device the call is about.
cudaError_t refused(bool waits_or_allocates) {
    ++calls_of_device.at(static_cast<std::size_t>(current_device));
    if (in_callback) return cudaErrorNotPermitted;
    if (waits_or_allocates && captures > 0) return cudaErrorStreamCaptureUnsupported;
    return cudaSuccess;
}

bool fits(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const auto room = [&](const void* memory, bool on_device) {
        const std::size_t there = device().left_on_device(memory);
        const std::size_t pinned = device().left_pinned(memory);
        if (on_device) return there >= bytes;
        return there == 0 && (pinned == 0 || pinned >= bytes);
    };
    return bytes == 0 || (room(to, to_device) && room(from, from_device));
}

}  // namespace

namespace ukemi::on_host {

void put_kernel(dim3 grid, dim3 threads, cudaStream_t stream, std::function<void()> thread) {
    constexpr unsigned others_most = 65'535;
    if (refused(false) != cudaSuccess) return static_cast<void>(wrong(refused(false)));
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > others_most || grid.z > others_most ||
        threads.x * threads.y * threads.z > 1024) {
        return static_cast<void>(wrong(cudaErrorInvalidConfiguration));
    }
    if (stream != nullptr && stream->device != current_device) {
        return static_cast<void>(wrong(cudaErrorInvalidResourceHandle));
    }
    static_cast<void>(device().put(stream, {.run = [=] { run_grid(grid, threads, thread); }}));
}

std::int64_t calls_on(int device) { return calls_of_device.at(static_cast<std::size_t>(device)); }

}  // namespace ukemi::on_host

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t code) {
    return code == cudaSuccess ? "cudaSuccess" : "error of the device on the host";
}
const char* cudaGetErrorString(cudaError_t code) {
    static thread_local std::string text;
    text = "code " + std::to_string(static_cast<int>(code));
    return text.c_str();
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = devices();
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* number) {
    *number = current_device;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int number) {
    if (in_callback) return wrong(cudaErrorNotPermitted);
    if (number < 0 || number >= devices()) return wrong(cudaErrorInvalidDevice);
    current_device = number;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
    *properties = {};
    properties->uuid.bytes[0] = static_cast<char>(number + 1);
    std::strcpy(properties->name, "this host in a GPU's place");
    const char* capability = std::getenv("UKEMI_ON_HOST_CAPABILITY");  // 75: 7.5
    const int of_all = capability == nullptr ? 90 : std::atoi(capability);
    properties->major = of_all / 10;
    properties->minor = of_all % 10;
    properties->multiProcessorCount = 1;
    properties->totalGlobalMem = std::size_t{1} << 30;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
    *value = 1000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *total = std::size_t{1} << 30;
    *free = *total / 2;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    *memory = device().allocate(bytes, true);
    return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    if (memory == nullptr || device().release(memory, true)) return cudaSuccess;
    return wrong(cudaErrorInvalidValue);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    *memory = device().allocate(bytes, false);
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    return device().release(memory, false) ? cudaSuccess : wrong(cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* about, const void* memory) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    *about = {};
    const bool on_device = device().left_on_device(memory) > 0;
    about->type = on_device                          ? cudaMemoryTypeDevice
                  : device().left_pinned(memory) > 0 ? cudaMemoryTypeHost
                                                     : cudaMemoryTypeUnregistered;
    if (on_device) about->device = device().device_of(memory);
    return cudaSuccess;
}

// On the default stream, which waits for no stream of ours: now, whatever is under way.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    if (!fits(to, from, bytes, kind)) return wrong(cudaErrorInvalidValue);
    if (bytes > 0) std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (kind == cudaMemcpyDefault) kind = kind_of(to, from);
    if (!fits(to, from, bytes, kind)) return wrong(cudaErrorInvalidValue);
    if (bytes == 0) return cudaSuccess;
    const bool pageable_in = kind == cudaMemcpyHostToDevice && device().left_pinned(from) == 0;
    const bool pageable_out = kind == cudaMemcpyDeviceToHost && device().left_pinned(to) == 0;
    if ((pageable_in || pageable_out) && captures > 0) {
        return wrong(cudaErrorStreamCaptureUnsupported);
    }
    Operation copy;
    if (pageable_in) {  // staged before the call returns
        const auto* begin = static_cast<const unsigned char*>(from);
        copy.run = [to, staged = std::vector<unsigned char>(begin, begin + bytes)] {
            std::memcpy(to, staged.data(), staged.size());
        };
    } else {
        copy.run = [=] { std::memcpy(to, from, bytes); };
    }
    const cudaError_t put = device().put(stream, std::move(copy));
    if (put == cudaSuccess && pageable_out) {
        device().wait([&] { return stream->operations.empty() && !stream->busy; });
    }
    return put;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (bytes == 0) return cudaSuccess;
    if (device().left_on_device(memory) < bytes) return wrong(cudaErrorInvalidValue);
    return device().put(stream, {.run = [=] { std::memset(memory, value, bytes); }});
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (flags != cudaStreamNonBlocking) return wrong(cudaErrorNotSupported);
    *stream = new CUstream_st;
    device().add(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (stream == nullptr) return wrong(cudaErrorInvalidResourceHandle);
    device().destroy(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    if (stream != nullptr) {
        device().wait([&] { return stream->operations.empty() && !stream->busy; });
    }
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    return device().is_done(stream) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* given) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    return device().put(stream, {.run = [=] { function(given); }, .calls_back = true});
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (stream == nullptr || stream->device != event->device) {
        return wrong(cudaErrorInvalidResourceHandle);
    }
    {
        const std::lock_guard lock(device().mutex());
        if (stream->captured) return wrong(cudaErrorStreamCaptureIsolation);
        ++event->state->recorded;
    }
    return device().put(stream, {.reaches = event->state});
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (stream == nullptr) return wrong(cudaErrorInvalidResourceHandle);
    std::int64_t count = 0;
    {
        const std::lock_guard lock(device().mutex());
        if (stream->captured) return wrong(cudaErrorStreamCaptureIsolation);
        count = event->state->recorded;
    }
    return device().put(stream, {.waits_for = event->state, .count = count});
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (refused(true) != cudaSuccess) return wrong(refused(true));
    const Shared state = event->state;
    device().wait([&] { return state->reached >= state->recorded; });
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds =
        std::chrono::duration<float, std::milli>(end->state->at - begin->state->at).count();
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    if (mode != cudaStreamCaptureModeThreadLocal) return wrong(cudaErrorNotSupported);
    const std::lock_guard lock(device().mutex());
    if (stream->captured) return wrong(cudaErrorIllegalState);
    stream->captured = std::make_unique<CUgraph_st>();
    ++captures;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    const std::lock_guard lock(device().mutex());
    if (!stream->captured) return wrong(cudaErrorIllegalState);
    *graph = stream->captured.release();
    --captures;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    *made = new CUgraphExec_st{graph->operations};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    for (const Operation& operation : graph->operations) {
        const cudaError_t put = device().put(stream, operation);
        if (put != cudaSuccess) return put;
    }
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    if (refused(false) != cudaSuccess) return wrong(refused(false));
    delete graph;
    return cudaSuccess;
}

// cuBLAS would look for a device: our own products are what is tested here. NCCL is this program's
// own, where it has one (nccl.cpp).
void* __real_dlopen(const char* name, int flags);
void* __wrap_dlopen(const char* name, int flags) {
    const bool is_nccl = name != nullptr && std::strcmp(name, "libnccl.so.2") == 0;
    return is_nccl ? __real_dlopen(nullptr, flags) : nullptr;
}
}
