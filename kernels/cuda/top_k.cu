// top_k.cu — selection by the bits of magnitudes, from the highest byte to the lowest.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/top_k.hpp"

namespace ukemi::kernels::cuda {

namespace {

constexpr unsigned digits = 256;
constexpr unsigned warps = block_threads / 32;
constexpr std::size_t tile_values = std::size_t{block_threads} * 16;

struct Selection {         // of the k-th magnitude, digit by digit
    std::uint32_t prefix;  // its digits found so far
    std::uint32_t mask;    // where they stand
    std::uint32_t wanted;  // how many of those with this prefix are kept
};

struct Workspace {
    std::uint32_t* counts;  // of each digit
    Selection* selection;
    std::uint32_t* equal;  // of each tile: magnitudes equal to the k-th; then those before it
    std::uint32_t* kept;   // greater ones; then what is kept before the tile
};

std::size_t tiles_of(std::size_t count) { return (count + tile_values - 1) / tile_values; }

Workspace parts_of(std::uint32_t* workspace, std::size_t count) {
    std::uint32_t* tiles = workspace + digits + 4;
    return {workspace, reinterpret_cast<Selection*>(workspace + digits), tiles,
            tiles + tiles_of(count)};
}

// Magnitudes have the order of their bits.
__device__ std::uint32_t magnitude_bits(float value) {
    const std::uint32_t bits = __float_as_uint(value) & 0x7FFFFFFFU;
    return bits > 0x7F800000U ? 0 : bits;
}

__global__ void begin_kernel(Workspace work, std::uint32_t kept) {
    work.counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) *work.selection = {0, 0, kept};
}

// The highest byte of gradients' magnitudes has few values, on which all threads would wait for
// each other: there (`alike`) the threads of a warp that hold the same one count together.
template <bool alike>
__global__ void __launch_bounds__(block_threads)
    count_digits_kernel(const float* __restrict__ values, std::size_t count, unsigned shift,
                        Workspace work) {
    __shared__ std::uint32_t counts[digits];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const Selection selection = *work.selection;
    for_elements(count, [&](std::size_t i) {
        const std::uint32_t bits = magnitude_bits(values[i]);
        if ((bits & selection.mask) != selection.prefix) return;
        const std::uint32_t digit = bits >> shift & (digits - 1);
        if constexpr (alike) {
            const unsigned same = __match_any_sync(__activemask(), digit);
            const bool first = (same & ((1U << threadIdx.x % 32) - 1U)) == 0;
            if (first) atomicAdd(&counts[digit], static_cast<std::uint32_t>(__popc(same)));
        } else {
            atomicAdd(&counts[digit], 1U);
        }
    });
    __syncthreads();
    if (counts[threadIdx.x] > 0) atomicAdd(&work.counts[threadIdx.x], counts[threadIdx.x]);
}

// A thread a digit: the one at which the count from above reaches what is wanted. Clears the
// counts.
__global__ void __launch_bounds__(digits) pick_digit_kernel(unsigned shift, Workspace work) {
    __shared__ std::uint32_t reached[digits];  // of this digit and those above it
    const unsigned digit = threadIdx.x;
    const std::uint32_t own = work.counts[digit];
    const Selection selection = *work.selection;
    work.counts[digit] = 0;
    reached[digit] = own;
    __syncthreads();
    for (unsigned away = 1; away < digits; away *= 2) {
        const std::uint32_t above = digit + away < digits ? reached[digit + away] : 0;
        __syncthreads();
        reached[digit] += above;
        __syncthreads();
    }
    const std::uint32_t above = reached[digit] - own;
    if (above >= selection.wanted || reached[digit] < selection.wanted) return;
    *work.selection = {selection.prefix | digit << shift, selection.mask | (digits - 1) << shift,
                       selection.wanted - above};
}

__global__ void __launch_bounds__(block_threads)
    count_tiles_kernel(const float* __restrict__ values, std::size_t count, Workspace work) {
    __shared__ std::uint32_t greater;
    __shared__ std::uint32_t equal;
    if (threadIdx.x == 0) greater = equal = 0;
    __syncthreads();
    const std::uint32_t threshold = work.selection->prefix;
    std::uint32_t own_greater = 0;
    std::uint32_t own_equal = 0;
    const std::size_t begin = blockIdx.x * tile_values;
    for (std::size_t i = begin + threadIdx.x; i < begin + tile_values; i += block_threads) {
        if (i >= count) break;
        const std::uint32_t bits = magnitude_bits(values[i]);
        own_greater += bits > threshold ? 1 : 0;
        own_equal += bits == threshold ? 1 : 0;
    }
    atomicAdd(&greater, own_greater);
    atomicAdd(&equal, own_equal);
    __syncthreads();
    if (threadIdx.x != 0) return;
    work.kept[blockIdx.x] = greater;
    work.equal[blockIdx.x] = equal;
}

// One block: what each of so many counts becomes is the sum of those before it.
__device__ void sum_before(std::uint32_t* counts, std::size_t tiles) {
    __shared__ std::uint32_t sums[block_threads];
    const std::size_t each = (tiles + block_threads - 1) / block_threads;
    const std::size_t begin = threadIdx.x * each;
    const std::size_t end = begin + each < tiles ? begin + each : tiles;
    std::uint32_t own = 0;
    for (std::size_t tile = begin; tile < end; ++tile) own += counts[tile];
    sums[threadIdx.x] = own;
    __syncthreads();
    std::uint32_t before = 0;
    for (unsigned thread = 0; thread < threadIdx.x; ++thread) before += sums[thread];
    for (std::size_t tile = begin; tile < end; ++tile) {
        const std::uint32_t here = counts[tile];
        counts[tile] = before;
        before += here;
    }
    __syncthreads();
}

__global__ void __launch_bounds__(block_threads)
    scan_tiles_kernel(std::size_t tiles, Workspace work) {
    // A tile keeps its greater ones and of the equal ones as many as are still wanted there.
    for (std::size_t tile = threadIdx.x; tile < tiles; tile += block_threads) {
        work.kept[tile] += work.equal[tile];
    }
    __syncthreads();
    sum_before(work.equal, tiles);
    sum_before(work.kept, tiles);
    const std::uint32_t wanted = work.selection->wanted;
    for (std::size_t tile = threadIdx.x; tile < tiles; tile += block_threads) {
        const std::uint32_t equal = work.equal[tile];
        if (equal > wanted) work.kept[tile] -= equal - wanted;  // not all before it were kept
    }
}

// How many threads of the block before this one say so, and how many of all.
struct Ranked {
    std::uint32_t before;
    std::uint32_t all;
};
__device__ Ranked rank_in_block(bool counts, std::uint32_t* sums) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t votes = __ballot_sync(0xFFFFFFFFU, counts);
    if (lane == 0) sums[threadIdx.x / 32] = static_cast<std::uint32_t>(__popc(votes));
    __syncthreads();
    Ranked found{static_cast<std::uint32_t>(__popc(votes & ((1U << lane) - 1U))), 0};
    for (unsigned warp = 0; warp < warps; ++warp) {
        if (warp < threadIdx.x / 32) found.before += sums[warp];
        found.all += sums[warp];
    }
    __syncthreads();
    return found;
}

__global__ void __launch_bounds__(block_threads)
    write_kernel(const float* __restrict__ values, std::size_t count, Workspace work,
                 std::int32_t* __restrict__ places, float* __restrict__ kept_values) {
    __shared__ std::uint32_t sums[warps];
    const Selection selection = *work.selection;
    std::uint32_t equal_before = work.equal[blockIdx.x];
    std::uint32_t kept_before = work.kept[blockIdx.x];
    const std::size_t begin = blockIdx.x * tile_values;
    for (std::size_t part = begin; part < begin + tile_values; part += block_threads) {
        const std::size_t i = part + threadIdx.x;
        const float value = i < count ? values[i] : 0.0F;
        const std::uint32_t bits = magnitude_bits(value);
        const bool equals = i < count && bits == selection.prefix;
        const Ranked equal = rank_in_block(equals, sums);
        const bool wanted = equals && equal_before + equal.before < selection.wanted;
        const bool keeps = wanted || (i < count && bits > selection.prefix);
        const Ranked kept = rank_in_block(keeps, sums);
        if (keeps) {
            places[kept_before + kept.before] = static_cast<std::int32_t>(i);
            kept_values[kept_before + kept.before] = value;
        }
        equal_before += equal.all;
        kept_before += kept.all;
    }
}

__global__ void __launch_bounds__(block_threads)
    add_places_kernel(const std::int32_t* __restrict__ places, const float* __restrict__ values,
                      std::size_t kept, float divisor, float* __restrict__ mean) {
    for_elements(kept, [&](std::size_t k) { mean[places[k]] += values[k] / divisor; });
}

}  // namespace

std::size_t top_k_workspace(std::size_t count) { return digits + 4 + 2 * tiles_of(count); }

cudaError_t launch_top_k(const float* values, std::size_t count, std::size_t kept,
                         std::uint32_t* workspace, std::int32_t* places, float* kept_values,
                         cudaStream_t stream) {
    if (count == 0 && kept == 0) return cudaSuccess;
    if (kept < 1 || kept > count || count > top_k_count_max) return cudaErrorInvalidValue;
    const Workspace work = parts_of(workspace, count);
    const unsigned blocks = blocks_for(count, 4);
    begin_kernel<<<1, digits, 0, stream>>>(work, static_cast<std::uint32_t>(kept));
    count_digits_kernel<true><<<blocks, block_threads, 0, stream>>>(values, count, 24, work);
    pick_digit_kernel<<<1, digits, 0, stream>>>(24, work);
    for (unsigned shift = 24; shift > 0;) {
        shift -= 8;
        count_digits_kernel<false>
            <<<blocks, block_threads, 0, stream>>>(values, count, shift, work);
        pick_digit_kernel<<<1, digits, 0, stream>>>(shift, work);
    }
    const auto tiles = static_cast<unsigned>(tiles_of(count));
    count_tiles_kernel<<<tiles, block_threads, 0, stream>>>(values, count, work);
    scan_tiles_kernel<<<1, block_threads, 0, stream>>>(tiles, work);
    write_kernel<<<tiles, block_threads, 0, stream>>>(values, count, work, places, kept_values);
    return cudaGetLastError();
}

cudaError_t launch_add_places(const std::int32_t* places, const float* values, std::size_t kept,
                              float divisor, float* mean, cudaStream_t stream) {
    if (kept == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(kept, 4);
    add_places_kernel<<<blocks, block_threads, 0, stream>>>(places, values, kept, divisor, mean);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
