// handles.hpp — owners for what the CUDA runtime hands out. Host code only: kernels sit in .cu
// files behind plain launch_… functions.
//
// An error of the runtime is a CudaError that names the call. Buffers belong to one device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdlib>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ukemi::kernels::cuda {

class CudaError : public std::runtime_error {
public:
    CudaError(cudaError_t code, std::source_location where)
        : std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                             ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code)),
          code_(code) {}
    cudaError_t code() const { return code_; }

private:
    cudaError_t code_;
};

// A function, not a macro: it knows its caller without pasting text.
inline void check(cudaError_t code, std::source_location where = std::source_location::current()) {
    if (code != cudaSuccess) throw CudaError(code, where);
}

// Why there is no GPU to use; empty if one answers. To be asked before anything else is.
inline std::string gpu_missing() {
    // More learners than the usual eight queues would wait for each other.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess) return cudaGetErrorString(code);
    return devices > 0 ? std::string() : "no CUDA device";
}

// Owns one handle. Moves, never copies. Destruction cannot report, so it does not try.
template <class Raw, cudaError_t (*destroy)(Raw)>
class Handle {
public:
    explicit Handle(Raw raw) : raw_(raw) {}
    Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, Raw{})) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~Handle() {
        if (raw_ != Raw{}) static_cast<void>(destroy(raw_));
    }
    Raw get() const { return raw_; }

private:
    Raw raw_;
};

using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using Event = Handle<cudaEvent_t, cudaEventDestroy>;

inline Stream make_stream() {
    cudaStream_t raw = nullptr;
    check(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking));
    return Stream(raw);
}
inline Event make_event() {
    cudaEvent_t raw = nullptr;
    check(cudaEventCreate(&raw));
    return Event(raw);
}

// Device memory for so many numbers; at least one byte is allocated, so that data() is never null.
template <class Number>
class Buffer {
public:
    explicit Buffer(std::size_t count) : count_(count), memory_(allocate(count)) {}
    explicit Buffer(std::span<const Number> values) : Buffer(values.size()) { fill(values); }
    Number* data() const { return static_cast<Number*>(memory_.get()); }
    std::size_t size() const { return count_; }

    // These two wait for their copy, and for nothing else: synchronise the stream first.
    void fill(std::span<const Number> values) {
        check(cudaMemcpy(data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
        // A copy from pageable memory may return before the device has it.
        check(cudaStreamSynchronize(nullptr));
    }
    std::vector<Number> read() const {
        std::vector<Number> values(count_);
        check(cudaMemcpy(values.data(), data(), count_ * sizeof(Number), cudaMemcpyDeviceToHost));
        return values;
    }

private:
    static void* allocate(std::size_t count) {
        void* raw = nullptr;
        check(cudaMalloc(&raw, count == 0 ? 1 : count * sizeof(Number)));
        return raw;
    }
    std::size_t count_;
    Handle<void*, cudaFree> memory_;
};

}  // namespace ukemi::kernels::cuda
