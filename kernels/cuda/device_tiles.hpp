// device_tiles.hpp — a block's tile of a long row of numbers, four neighbours at a time. For .cu
// files.
//
// A block takes one tile, so that a launch has as many blocks as there are tiles: each has all its
// loads in flight before the first store, and the next block's begin while this one's stores end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device_sums.hpp"

namespace ukemi::kernels::cuda {

inline constexpr unsigned fours_of_thread = 4;
inline constexpr unsigned fours_of_tile = block_threads * fours_of_thread;
inline constexpr unsigned values_of_tile = fours_of_tile * 4;

// Of at least one number; a grid holds 2^31 − 1 blocks.
inline unsigned tiles_for(std::size_t count) {
    return static_cast<unsigned>((count + values_of_tile - 1) / values_of_tile);
}

// Whether numbers at this address can be read and written so many bytes at once.
inline bool lies_at(const void* address, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

#if defined(__CUDACC__) || defined(UKEMI_DEVICE_CODE)

// Of a tile of `count` numbers: `store(g, load(g))` for the numbers 4 g … 4 g + 3, all loads of a
// thread first; `one(i)` for each number of a tile that is not whole, or of any tile if numbers
// cannot be read by fours (`aligned`).
template <bool aligned, class Load, class Store, class One>
__device__ void for_tile(unsigned tile, std::size_t count, const Load& load, const Store& store,
                         const One& one) {
    const std::size_t begin = std::size_t{tile} * values_of_tile;
    if (aligned && begin + values_of_tile <= count) {
        const std::size_t first = std::size_t{tile} * fours_of_tile + threadIdx.x;
        decltype(load(first)) read[fours_of_thread];
#pragma unroll
        for (unsigned part = 0; part < fours_of_thread; ++part) {
            read[part] = load(first + part * block_threads);
        }
#pragma unroll
        for (unsigned part = 0; part < fours_of_thread; ++part) {
            store(first + part * block_threads, read[part]);
        }
        return;
    }
    const std::size_t left = count - begin;
    const auto size = static_cast<unsigned>(left < values_of_tile ? left : values_of_tile);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < size; i += block_threads) one(begin + i);
}

#endif

}  // namespace ukemi::kernels::cuda
