// top_k.cu — selection by the bits of magnitudes, among the few that can be meant.
//
// A sample says from which magnitude on to look (`bound`). One pass over all values keeps what is
// as large, tile by tile, in the order of places; three digits of the k-th magnitude are then found
// among these candidates. What was not found so is read from the values again: tiles with more
// candidates than slots, and all tiles (`bound` is zero) where the sample misled or magnitudes of
// zero are kept. A tile belongs to a warp.
#include <cmath>

#include "kernels/cuda/device_tiles.hpp"
#include "kernels/cuda/top_k.hpp"

namespace ukemi::kernels::cuda {

namespace {

constexpr unsigned warps = block_threads / 32;
constexpr unsigned lane_values = 16;  // of a tile, that a lane reads before it looks at the first
constexpr unsigned round_values = 32 * lane_values;
constexpr unsigned tile_values = 4 * round_values;
constexpr unsigned tile_slots = tile_values / 8;  // for candidates
constexpr std::uint32_t infinity_bits = 0x7F800000U;

// The digits of a magnitude's 31 bits, from the highest on.
constexpr unsigned stages = 3;
constexpr unsigned digits_max = 2048;
constexpr unsigned digits_of(unsigned stage) { return stage == 0 ? 2048 : 1024; }
constexpr unsigned shift_of(unsigned stage) { return stage == 0 ? 20 : stage == 1 ? 10 : 0; }

struct Selection {         // of the k-th magnitude, digit by digit
    std::uint32_t prefix;  // its digits found so far
    std::uint32_t mask;    // where they stand
    std::uint32_t wanted;  // how many of those with this prefix are kept
};

struct State {            // zeros at first
    std::uint32_t bound;  // candidates are no smaller; zero: all values are
    std::uint32_t total;  // of candidates
    Selection after[stages];
    std::uint32_t sampled;  // blocks that are done: of the sample,
    std::uint32_t collected;
    std::uint32_t counted[stages];
    std::uint32_t sample_counts[digits_max];
    std::uint32_t counts[stages][digits_max];
};
constexpr std::size_t state_words = sizeof(State) / sizeof(std::uint32_t);

std::size_t tiles_of(std::size_t count) { return (count + tile_values - 1) / tile_values; }
std::size_t blocks_of(std::size_t count) { return (tiles_of(count) + warps - 1) / warps; }

struct Workspace {
    State* state;
    std::uint32_t* found;          // of each tile: candidates,
    std::uint32_t* greater;        // those greater than the k-th magnitude,
    std::uint32_t* equal;          // and equal to it
    std::uint32_t* block_greater;  // the same of each block's tiles; then of those before it
    std::uint32_t* block_equal;
    float* values;          // the slots of each tile
    std::uint16_t* places;  // in the tile

    Workspace(std::uint32_t* memory, std::size_t count)
        : state(reinterpret_cast<State*>(memory)),
          found(memory + state_words),
          greater(found + tiles_of(count)),
          equal(greater + tiles_of(count)),
          block_greater(equal + tiles_of(count)),
          block_equal(block_greater + blocks_of(count)),
          values(reinterpret_cast<float*>(block_equal + blocks_of(count))),
          places(reinterpret_cast<std::uint16_t*>(values + tiles_of(count) * tile_slots)) {}
};

// Magnitudes have the order of their bits; what is no number is zero.
__device__ std::uint32_t magnitude_bits(float value) {
    const std::uint32_t bits = __float_as_uint(value) & 0x7FFFFFFFU;
    return bits > infinity_bits ? 0 : bits;
}

template <class Number>
__device__ Number sum_up_to_lane(Number value) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned away = 1; away < 32; away *= 2) {
        const Number before = __shfl_up_sync(0xFFFFFFFFU, value, away);
        if (lane >= away) value += before;
    }
    return value;
}
__device__ std::uint32_t sum_of_warp(std::uint32_t value) {
#pragma unroll
    for (unsigned away = 16; away > 0; away /= 2) {
        value += __shfl_down_sync(0xFFFFFFFFU, value, away);
    }
    return value;
}

// True for the threads of the block that is the last to come here: it sees what the others wrote.
__device__ bool is_last_block(std::uint32_t* blocks_done) {
    __shared__ std::uint32_t before;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) before = atomicAdd(blocks_done, 1U);
    __syncthreads();
    __threadfence();
    return before == gridDim.x - 1;
}

// Counts of digits within a block. A thread that meets the same digit again counts it for itself.
class DigitCounts {
public:
    __device__ explicit DigitCounts(std::uint32_t* shared) : shared_(shared) {}
    __device__ void add(std::uint32_t digit) {
        if (digit != digit_) flush();
        digit_ = digit;
        ++own_;
    }
    __device__ void flush() {
        if (own_ > 0) atomicAdd(&shared_[digit_], own_);
        own_ = 0;
    }

private:
    std::uint32_t* shared_;
    std::uint32_t digit_ = 0;
    std::uint32_t own_ = 0;
};

template <unsigned digits>
__device__ void add_counts(const std::uint32_t* shared, std::uint32_t* all) {
    for (unsigned digit = threadIdx.x; digit < digits; digit += block_threads) {
        if (shared[digit] > 0) atomicAdd(&all[digit], shared[digit]);
    }
}

// Calls `with(digit, count of those above it)` in one thread, for the digit at which the count from
// above reaches what is wanted; in none if it never does.
template <unsigned digits, class With>
__device__ void pick_digit(const std::uint32_t* counts, std::uint32_t wanted, const With& with) {
    __shared__ std::uint32_t sums[warps];
    constexpr unsigned each = digits / block_threads;
    const unsigned highest = digits - 1 - threadIdx.x * each;
    std::uint32_t own[each];
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        own[i] = __ldcg(&counts[highest - i]);
        sum += own[i];
    }
    const std::uint32_t up_to = sum_up_to_lane(sum);
    if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = up_to;
    __syncthreads();
    std::uint32_t above = up_to - sum;
    for (unsigned warp = 0; warp < threadIdx.x / 32; ++warp) above += sums[warp];
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        if (above < wanted && wanted - above <= own[i]) with(highest - i, above);
        above += own[i];
    }
}

__global__ void __launch_bounds__(block_threads)
    sample_kernel(const float* __restrict__ values, std::uint32_t samples, std::uint32_t stride,
                  std::uint32_t wanted, Workspace work) {
    __shared__ std::uint32_t counts[digits_max];
    for (unsigned i = threadIdx.x; i < digits_max; i += block_threads) counts[i] = 0;
    __syncthreads();
    const std::uint32_t begin = blockIdx.x * block_threads * 4 + threadIdx.x;
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
        const std::uint32_t i = begin + part * block_threads;
        if (i >= samples) continue;
        const std::uint32_t bits = magnitude_bits(values[top_k_sample_place(i, stride)]);
        atomicAdd(&counts[bits >> shift_of(0)], 1U);
    }
    __syncthreads();
    add_counts<digits_max>(counts, work.state->sample_counts);
    if (!is_last_block(&work.state->sampled)) return;
    pick_digit<digits_max>(
        work.state->sample_counts, wanted,
        [&](std::uint32_t digit, std::uint32_t) { work.state->bound = digit << shift_of(0); });
}

// Four neighbours; zeros where there are none.
__device__ float4 read_four(const float* values, std::size_t begin, std::size_t count) {
    return make_float4(begin < count ? values[begin] : 0, begin + 1 < count ? values[begin + 1] : 0,
                       begin + 2 < count ? values[begin + 2] : 0,
                       begin + 3 < count ? values[begin + 3] : 0);
}

// How many candidates a warp finds among `fours` of each lane, which it appends to the tile's slots
// behind those found before, in the order of their places.
__device__ std::uint32_t append(const float4 (&fours)[4], std::uint32_t bound, unsigned round,
                                std::uint32_t before, float* slots, std::uint16_t* places) {
    const unsigned lane = threadIdx.x % 32;
    const auto meant = [&](float value) {
        const std::uint32_t bits = __float_as_uint(value) & 0x7FFFFFFFU;
        return bits - bound <= infinity_bits - bound;  // no less than bound, and a number
    };
    std::uint32_t own = 0;  // a byte for each four: at most 128 in a warp
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
        const float4& four = fours[part];
        const unsigned here = (meant(four.x) ? 1U : 0U) + (meant(four.y) ? 1U : 0U) +
                              (meant(four.z) ? 1U : 0U) + (meant(four.w) ? 1U : 0U);
        own |= here << 8 * part;
    }
    const std::uint32_t up_to = sum_up_to_lane(own);
    const std::uint32_t all = __shfl_sync(0xFFFFFFFFU, up_to, 31);
    const std::uint32_t lanes_before = up_to - own;
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
        std::uint32_t slot = before + (lanes_before >> 8 * part & 255U);
        const unsigned place = round * round_values + part * 128 + lane * 4;
        const auto put = [&](float value, unsigned at) {
            if (!meant(value)) return;
            if (slot < tile_slots) {
                slots[slot] = value;
                places[slot] = static_cast<std::uint16_t>(place + at);
            }
            ++slot;
        };
        if ((own >> 8 * part & 255U) != 0) {
            put(fours[part].x, 0);
            put(fours[part].y, 1);
            put(fours[part].z, 2);
            put(fours[part].w, 3);
        }
        before += all >> 8 * part & 255U;
    }
    return before;
}

template <bool aligned>
__global__ void __launch_bounds__(block_threads, 5)
    collect_kernel(const float* __restrict__ values, std::size_t count, std::uint32_t tiles,
                   std::uint32_t kept, Workspace work) {
    const std::uint32_t bound = work.state->bound;
    if (bound == 0) return;
    const std::uint32_t tile = blockIdx.x * warps + threadIdx.x / 32;
    if (tile < tiles) {
        const std::size_t begin = std::size_t{tile} * tile_values;
        const bool whole = aligned && begin + tile_values <= count;
        float* slots = work.values + std::size_t{tile} * tile_slots;
        std::uint16_t* places = work.places + std::size_t{tile} * tile_slots;
        const unsigned lane = threadIdx.x % 32;
        std::uint32_t found = 0;
#pragma unroll 1
        for (unsigned round = 0; round < tile_values / round_values; ++round) {
            const std::size_t first = begin + round * round_values + lane * 4;
            float4 fours[4];
            if (whole) {
                const auto* from = reinterpret_cast<const float4*>(values + first);
#pragma unroll
                for (unsigned part = 0; part < 4; ++part) fours[part] = from[part * 32];
            } else {
#pragma unroll
                for (unsigned part = 0; part < 4; ++part) {
                    fours[part] = read_four(values, first + part * 128, count);
                }
            }
            found = append(fours, bound, round, found, slots, places);
        }
        if (lane == 0) {
            work.found[tile] = found;
            atomicAdd(&work.state->total, found);
        }
    }
    if (!is_last_block(&work.state->collected)) return;
    if (threadIdx.x == 0 && __ldcg(&work.state->total) < kept) work.state->bound = 0;
}

// Where a warp finds the values of its tile that can be meant.
struct Tile {
    const float* values;
    const std::uint16_t* places;  // in the tile; none if all values are meant
    std::uint32_t count;

    __device__ Tile(const float* all, std::size_t all_count, std::uint32_t tile,
                    const Workspace& work) {
        const std::size_t begin = std::size_t{tile} * tile_values;
        const std::uint32_t found = work.state->bound == 0 ? tile_slots + 1 : work.found[tile];
        if (found <= tile_slots) {
            values = work.values + std::size_t{tile} * tile_slots;
            places = work.places + std::size_t{tile} * tile_slots;
            count = found;
            return;
        }
        const std::size_t left = all_count - begin;
        values = all + begin;
        places = nullptr;
        count = static_cast<std::uint32_t>(left < tile_values ? left : tile_values);
    }
};

// The values of a lane at first, first + 32 and so on, all read at once; zeros where there are
// none.
template <unsigned each>
__device__ void read_some(const Tile& from, std::uint32_t first, float (&values)[each]) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        values[i] = first + i * 32 < from.count ? from.values[first + i * 32] : 0.0F;
    }
}

// Counts the next digit of those that have the digits before it; the last block picks it.
template <unsigned stage>
__global__ void __launch_bounds__(block_threads)
    digit_kernel(const float* __restrict__ values, std::size_t count, std::uint32_t tiles,
                 std::uint32_t kept, Workspace work) {
    constexpr unsigned digits = digits_of(stage);
    constexpr unsigned shift = shift_of(stage);
    __shared__ std::uint32_t counts[digits];
    for (unsigned i = threadIdx.x; i < digits; i += block_threads) counts[i] = 0;
    __syncthreads();
    Selection selection{0, 0, kept};
    if constexpr (stage > 0) selection = work.state->after[stage - 1];
    DigitCounts own(counts);
    for (std::uint32_t tile = blockIdx.x * warps + threadIdx.x / 32; tile < tiles;
         tile += gridDim.x * warps) {
        const Tile from(values, count, tile, work);
        for (std::uint32_t first = threadIdx.x % 32; first < from.count; first += 32 * 8) {
            float own_values[8];
            read_some(from, first, own_values);
#pragma unroll
            for (unsigned i = 0; i < 8; ++i) {
                if (first + i * 32 >= from.count) break;
                const std::uint32_t bits = magnitude_bits(own_values[i]);
                if ((bits & selection.mask) == selection.prefix) {
                    own.add(bits >> shift & (digits - 1));
                }
            }
        }
    }
    own.flush();
    __syncthreads();
    add_counts<digits>(counts, work.state->counts[stage]);
    if (!is_last_block(&work.state->counted[stage])) return;
    pick_digit<digits>(work.state->counts[stage], selection.wanted,
                       [&](std::uint32_t digit, std::uint32_t above) {
                           work.state->after[stage] = {selection.prefix | digit << shift,
                                                       selection.mask | (digits - 1) << shift,
                                                       selection.wanted - above};
                       });
}

__global__ void __launch_bounds__(block_threads)
    count_tiles_kernel(const float* __restrict__ values, std::size_t count, std::uint32_t tiles,
                       Workspace work) {
    __shared__ std::uint32_t greater[warps];
    __shared__ std::uint32_t equal[warps];
    const unsigned warp = threadIdx.x / 32;
    const std::uint32_t tile = blockIdx.x * warps + warp;
    const std::uint32_t threshold = work.state->after[stages - 1].prefix;
    std::uint32_t own_greater = 0;
    std::uint32_t own_equal = 0;
    if (tile < tiles) {
        const Tile from(values, count, tile, work);
        for (std::uint32_t first = threadIdx.x % 32; first < from.count; first += 32 * 8) {
            float own_values[8];
            read_some(from, first, own_values);
#pragma unroll
            for (unsigned i = 0; i < 8; ++i) {
                const std::uint32_t bits = magnitude_bits(own_values[i]);
                own_greater += bits > threshold ? 1 : 0;
                own_equal += first + i * 32 < from.count && bits == threshold ? 1 : 0;
            }
        }
    }
    own_greater = sum_of_warp(own_greater);
    own_equal = sum_of_warp(own_equal);
    if (threadIdx.x % 32 == 0) {
        greater[warp] = own_greater;
        equal[warp] = own_equal;
        if (tile < tiles) {
            work.greater[tile] = own_greater;
            work.equal[tile] = own_equal;
        }
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned other = 1; other < warps; ++other) {
        greater[0] += greater[other];
        equal[0] += equal[other];
    }
    work.block_greater[blockIdx.x] = greater[0];
    work.block_equal[blockIdx.x] = equal[0];
}

constexpr unsigned scan_threads = 1024;

// One block: what each of so many counts becomes is the sum of those before it; greater and equal
// ones in the halves of one number.
__global__ void __launch_bounds__(scan_threads) scan_kernel(std::uint32_t blocks, Workspace work) {
    __shared__ std::uint64_t sums[scan_threads / 32];
    constexpr unsigned each = 4;
    const unsigned warp = threadIdx.x / 32;
    std::uint64_t before_round = 0;
    for (std::uint32_t first = 0; first < blocks; first += scan_threads * each) {
        const std::uint32_t begin = first + threadIdx.x * each;
        std::uint64_t own[each];
        std::uint64_t sum = 0;
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const bool there = begin + i < blocks;
            const std::uint64_t greater = there ? work.block_greater[begin + i] : 0;
            own[i] = greater << 32 | (there ? work.block_equal[begin + i] : 0);
            sum += own[i];
        }
        const std::uint64_t up_to = sum_up_to_lane(sum);
        if (threadIdx.x % 32 == 31) sums[warp] = up_to;
        __syncthreads();
        std::uint64_t before = before_round + up_to - sum;
        for (unsigned other = 0; other < scan_threads / 32; ++other) {
            if (other < warp) before += sums[other];
            before_round += sums[other];
        }
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            if (begin + i < blocks) {
                work.block_greater[begin + i] = static_cast<std::uint32_t>(before >> 32);
                work.block_equal[begin + i] = static_cast<std::uint32_t>(before);
            }
            before += own[i];
        }
    }
}

__global__ void __launch_bounds__(block_threads)
    write_kernel(const float* __restrict__ values, std::size_t count, std::uint32_t tiles,
                 Workspace work, std::int32_t* __restrict__ places,
                 float* __restrict__ kept_values) {
    const std::uint32_t tile = blockIdx.x * warps + threadIdx.x / 32;
    if (tile >= tiles) return;
    const Selection selection = work.state->after[stages - 1];
    std::uint32_t greater_before = work.block_greater[blockIdx.x];
    std::uint32_t equal_before = work.block_equal[blockIdx.x];
    for (std::uint32_t other = blockIdx.x * warps; other < tile; ++other) {
        greater_before += work.greater[other];
        equal_before += work.equal[other];
    }
    // Of the equal ones as many are kept as are wanted, the first.
    std::uint32_t kept_before =
        greater_before + (equal_before < selection.wanted ? equal_before : selection.wanted);
    const Tile from(values, count, tile, work);
    const unsigned lane = threadIdx.x % 32;
    const unsigned lanes_before = (1U << lane) - 1U;
    for (std::uint32_t begin = 0; begin < from.count; begin += 32 * 4) {
        float own_values[4];
        read_some(from, begin + lane, own_values);
#pragma unroll
        for (unsigned part = 0; part < 4; ++part) {
            const std::uint32_t i = begin + part * 32 + lane;
            const bool there = i < from.count;
            const std::uint32_t bits = magnitude_bits(own_values[part]);
            const bool equals = there && bits == selection.prefix;
            const std::uint32_t equal = __ballot_sync(0xFFFFFFFFU, equals);
            const std::uint32_t rank =
                equal_before + static_cast<std::uint32_t>(__popc(equal & lanes_before));
            const bool keeps =
                there && (bits > selection.prefix || (equals && rank < selection.wanted));
            const std::uint32_t kept = __ballot_sync(0xFFFFFFFFU, keeps);
            if (keeps) {
                const std::uint32_t at =
                    kept_before + static_cast<std::uint32_t>(__popc(kept & lanes_before));
                const std::uint32_t place = from.places == nullptr ? i : from.places[i];
                places[at] = static_cast<std::int32_t>(tile * tile_values + place);
                kept_values[at] = own_values[part];
            }
            equal_before += static_cast<std::uint32_t>(__popc(equal));
            kept_before += static_cast<std::uint32_t>(__popc(kept));
        }
    }
}

__global__ void __launch_bounds__(block_threads)
    add_places_kernel(const std::int32_t* __restrict__ places, const float* __restrict__ values,
                      std::size_t kept, float divisor, float* __restrict__ mean) {
    for_elements(kept, [&](std::size_t k) { mean[places[k]] += values[k] / divisor; });
}

// How many of so many samples are to be as large as the bound, so that as many values are as are
// kept: four times the spread of their number above its mean, and all of them if they are all.
std::uint32_t wanted_of(std::uint32_t samples, std::size_t count, std::size_t kept) {
    if (samples == count) return static_cast<std::uint32_t>(kept);
    const double mean =
        static_cast<double>(kept) * static_cast<double>(samples) / static_cast<double>(count);
    return static_cast<std::uint32_t>(mean + 4 * std::sqrt(mean) + 8);
}

}  // namespace

std::size_t top_k_workspace(std::size_t count) {
    const std::size_t tiles = tiles_of(count);
    return state_words + 3 * tiles + 2 * blocks_of(count) + tiles * tile_slots +
           tiles * tile_slots / 2;
}

cudaError_t launch_top_k(const float* values, std::size_t count, std::size_t kept,
                         std::uint32_t* workspace, std::int32_t* places, float* kept_values,
                         cudaStream_t stream) {
    if (count == 0 && kept == 0) return cudaSuccess;
    if (kept < 1 || kept > count || count > top_k_count_max) return cudaErrorInvalidValue;
    const Workspace work(workspace, count);
    const cudaError_t cleared = cudaMemsetAsync(work.state, 0, sizeof(State), stream);
    if (cleared != cudaSuccess) return cleared;
    const auto wanted = static_cast<std::uint32_t>(kept);
    const auto tiles = static_cast<std::uint32_t>(tiles_of(count));
    const auto blocks = static_cast<unsigned>(blocks_of(count));
    const std::uint32_t stride = top_k_sample_stride(count);
    const std::uint32_t samples = stride == 1 ? static_cast<std::uint32_t>(count) : top_k_samples;
    sample_kernel<<<blocks_for(samples, 4), block_threads, 0, stream>>>(
        values, samples, stride, wanted_of(samples, count, kept), work);
    const auto collect =
        lies_at(values, sizeof(float4)) ? collect_kernel<true> : collect_kernel<false>;
    collect<<<blocks, block_threads, 0, stream>>>(values, count, tiles, wanted, work);
    const unsigned digit_blocks = blocks < blocks_max / 2 ? blocks : blocks_max / 2;
    digit_kernel<0><<<digit_blocks, block_threads, 0, stream>>>(values, count, tiles, wanted, work);
    digit_kernel<1><<<digit_blocks, block_threads, 0, stream>>>(values, count, tiles, wanted, work);
    digit_kernel<2><<<digit_blocks, block_threads, 0, stream>>>(values, count, tiles, wanted, work);
    count_tiles_kernel<<<blocks, block_threads, 0, stream>>>(values, count, tiles, work);
    scan_kernel<<<1, scan_threads, 0, stream>>>(blocks, work);
    write_kernel<<<blocks, block_threads, 0, stream>>>(values, count, tiles, work, places,
                                                       kept_values);
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
