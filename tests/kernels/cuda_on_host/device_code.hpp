// device_code.hpp — the words of CUDA that our kernels are written in, for a compiler that knows
// only C++. Read before a kernel's text, in which `kernel<<<…>>>(…)` has become
// `launch_of(kernel, …)(…)`, and `__shared__` static memory with `begin_shared` behind it.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <math.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#include "tests/kernels/cuda_on_host/threads.hpp"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define UKEMI_DEVICE_CODE
#define threadIdx (::ukemi::on_host::here.thread)
#define blockIdx (::ukemi::on_host::here.block)
#define gridDim (::ukemi::on_host::here.grid)
#define blockDim (::ukemi::on_host::here.threads)

namespace ukemi::on_host {

// Puts a kernel on a stream; what is wrong with it is found by cudaGetLastError.
void put_kernel(dim3 grid, dim3 threads, cudaStream_t stream, std::function<void()> thread);

// Arguments are copied when the kernel is launched, as they are for a device.
template <class... Parameters>
auto launch_of(void (*kernel)(Parameters...), dim3 grid, dim3 threads, std::size_t,
               cudaStream_t stream) {
    return [=](Parameters... arguments) {
        put_kernel(grid, threads, stream, [kernel, kept = std::tuple<Parameters...>(arguments...)] {
            std::apply(kernel, kept);
        });
    };
}

// Static, because blocks run one after the other; at each block's first touch no number again.
template <class Memory>
void begin_shared(Memory& memory, std::uint64_t& of_block) {
    if (of_block == here.block_number) return;
    of_block = here.block_number;
    std::memset(&memory, 0xFF, sizeof memory);
}

template <class Value>
Value from_lane(Value value, unsigned other) {
    static_assert(sizeof value <= sizeof(std::uint64_t));
    std::uint64_t* words = words_of_warp();
    std::memcpy(&words[lane()], &value, sizeof value);
    meet_warp();
    std::memcpy(&value, &words[other], sizeof value);
    meet_warp();
    return value;
}

}  // namespace ukemi::on_host

inline void __syncthreads() { ukemi::on_host::meet_block(); }
inline void __syncwarp() { ukemi::on_host::meet_warp(); }
template <class Value>
Value __shfl_down_sync(unsigned, Value value, unsigned away) {
    const unsigned own = ukemi::on_host::lane();
    return ukemi::on_host::from_lane(value, own + away < 32 ? own + away : own);
}
template <class Value>
Value __shfl_up_sync(unsigned, Value value, unsigned away) {
    const unsigned own = ukemi::on_host::lane();
    return ukemi::on_host::from_lane(value, own >= away ? own - away : own);
}
template <class Value>
Value __shfl_sync(unsigned, Value value, unsigned from) {
    return ukemi::on_host::from_lane(value, from % 32);
}
inline unsigned __ballot_sync(unsigned, bool votes) {
    std::uint64_t* words = ukemi::on_host::words_of_warp();
    words[ukemi::on_host::lane()] = votes ? 1 : 0;
    ukemi::on_host::meet_warp();
    const unsigned present = ukemi::on_host::warp_lanes();
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if ((present >> lane & 1U) != 0 && words[lane] != 0) all |= 1U << lane;
    }
    ukemi::on_host::meet_warp();
    return all;
}
inline unsigned __activemask() { return ukemi::on_host::lanes_here(); }
template <class Value>
unsigned __match_any_sync(unsigned mask, Value value) {
    static_assert(std::is_integral_v<Value>);
    std::uint64_t* words = ukemi::on_host::words_of_warp();
    words[ukemi::on_host::lane()] = static_cast<std::uint64_t>(value);
    ukemi::on_host::meet_lanes(mask);
    unsigned same = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const bool alike = words[lane] == static_cast<std::uint64_t>(value);
        if ((mask >> lane & 1U) != 0 && alike) same |= 1U << lane;
    }
    ukemi::on_host::meet_lanes(mask);
    return same;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
template <class Number>
Number atomicAdd(Number* into, Number value) {
    const Number before = *into;
    *into += value;
    return before;
}
// Blocks run one after the other: what one has written, the next one sees.
inline void __threadfence() {}
template <class Number>
Number __ldcg(const Number* from) {
    return *from;
}
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
// Rounds once, as a device does: with a product in double precision the sum would round twice.
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
