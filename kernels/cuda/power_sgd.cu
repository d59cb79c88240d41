// power_sgd.cu — tall and thin products. The rank is a template parameter, so that sums stay in
// registers.
#include "kernels/cuda/device_tiles.hpp"
#include "kernels/cuda/power_sgd.hpp"

namespace ukemi::kernels::cuda {

namespace {

constexpr std::size_t grid_rows_max = 32'768;

// The `rank` factors of one row or column, at once where they lie so that they can be (`aligned`).
template <std::size_t rank, bool aligned>
__device__ void read_row(const float* from, float (&row)[rank]) {
    if constexpr (aligned && rank % 4 == 0) {
#pragma unroll
        for (std::size_t k = 0; k < rank; k += 4) {
            const float4 four = *reinterpret_cast<const float4*>(from + k);
            row[k] = four.x;
            row[k + 1] = four.y;
            row[k + 2] = four.z;
            row[k + 3] = four.w;
        }
    } else {
#pragma unroll
        for (std::size_t k = 0; k < rank; ++k) row[k] = from[k];
    }
}
template <std::size_t rank, bool aligned>
__device__ void write_row(const float (&row)[rank], float* into) {
    if constexpr (aligned && rank % 4 == 0) {
#pragma unroll
        for (std::size_t k = 0; k < rank; k += 4) {
            *reinterpret_cast<float4*>(into + k) =
                make_float4(row[k], row[k + 1], row[k + 2], row[k + 3]);
        }
    } else {
#pragma unroll
        for (std::size_t k = 0; k < rank; ++k) into[k] = row[k];
    }
}

__device__ double sum_of_warp(double value) {
#pragma unroll
    for (unsigned away = 16; away > 0; away /= 2) {
        value += __shfl_down_sync(0xFFFFFFFFU, value, away);
    }
    return value;
}

constexpr unsigned times_threads = 128;
constexpr std::size_t times_rows = 2;  // of a warp
constexpr std::size_t rows_of_times_block = times_rows * times_threads / 32;

// A warp takes two rows. Its lanes read neighbours, and many of them before they add the first; the
// warps of a multiprocessor find `right` in its cache.
template <std::size_t rank, bool aligned>
__global__ void __launch_bounds__(times_threads)
    times_kernel(MatrixSize size, const float* __restrict__ matrix, const float* __restrict__ right,
                 float* __restrict__ out) {
    constexpr unsigned each = rank <= 4 ? 8 : 4;
    const unsigned lane = threadIdx.x % 32;
    const std::size_t warp = std::size_t{blockIdx.x} * (times_threads / 32) + threadIdx.x / 32;
    const std::size_t first = warp * times_rows;
    if (first >= size.rows) return;
    // Where there is one row left it is read twice.
    const float* rows[times_rows] = {
        matrix + first * size.columns,
        matrix + (first + 1 < size.rows ? first + 1 : first) * size.columns};
    float sums[times_rows][rank] = {};
    const auto add = [&](std::size_t column, const float(&values)[times_rows]) {
        float factors[rank];
        read_row<rank, aligned>(right + column * rank, factors);
#pragma unroll
        for (std::size_t row = 0; row < times_rows; ++row) {
#pragma unroll
            for (std::size_t k = 0; k < rank; ++k) sums[row][k] += values[row] * factors[k];
        }
    };
    // The next ones are read before these are added: they stay in flight.
    float values[each][times_rows];
    float next[each][times_rows];
    const auto read = [&](std::size_t begin, float(&into)[each][times_rows]) {
#pragma unroll
        for (unsigned part = 0; part < each; ++part) {
#pragma unroll
            for (std::size_t row = 0; row < times_rows; ++row) {
                into[part][row] = rows[row][begin + part * 32 + lane];
            }
        }
    };
    constexpr std::size_t together = std::size_t{each} * 32;
    const std::size_t whole = size.columns / together * together;
    if (whole > 0) read(0, next);
#pragma unroll 1
    for (std::size_t begin = 0; begin < whole; begin += together) {
#pragma unroll
        for (unsigned part = 0; part < each; ++part) {
#pragma unroll
            for (std::size_t row = 0; row < times_rows; ++row) values[part][row] = next[part][row];
        }
        if (begin + together < whole) read(begin + together, next);
#pragma unroll
        for (unsigned part = 0; part < each; ++part) add(begin + part * 32 + lane, values[part]);
    }
    for (std::size_t column = whole + lane; column < size.columns; column += 32) {
        const float last[times_rows] = {rows[0][column], rows[1][column]};
        add(column, last);
    }
    __syncwarp();
#pragma unroll
    for (std::size_t row = 0; row < times_rows; ++row) {
#pragma unroll
        for (std::size_t k = 0; k < rank; ++k) {
            const double sum = sum_of_warp(static_cast<double>(sums[row][k]));
            if (lane == 0 && first + row < size.rows) {
                out[(first + row) * rank + k] = static_cast<float>(sum);
            }
        }
    }
}

constexpr std::size_t rows_of_part_max = 128;
constexpr std::size_t rows_of_part_min = 32;

// Of the transposed product, that one block takes: many where there are blocks enough to fill a
// device all the same.
std::size_t rows_of_part(const MatrixSize& size) {
    const std::size_t column_blocks = (size.columns + block_threads - 1) / block_threads;
    std::size_t rows = rows_of_part_max;
    while (rows > rows_of_part_min && (size.rows + rows - 1) / rows * column_blocks < 1024) {
        rows /= 2;
    }
    return rows;
}
std::size_t part_count_of(const MatrixSize& size) {
    return (size.rows + rows_of_part(size) - 1) / rows_of_part(size);
}

// A thread a column, over a part of the rows: parts[part][column][k]. The last part first: its rows
// were read last by `times`, and some are still near.
template <std::size_t rank, bool aligned>
__global__ void __launch_bounds__(block_threads)
    transposed_kernel(MatrixSize size, std::size_t part_rows, std::size_t part_count,
                      const float* __restrict__ matrix, const float* __restrict__ right,
                      float* __restrict__ parts) {
    __shared__ float4 memory[rows_of_part_max * rank / 4 + 1];  // so that rows are read by fours
    auto* factors = reinterpret_cast<float*>(memory);
    const std::size_t column = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    for (std::size_t turn = blockIdx.y; turn < part_count; turn += gridDim.y) {
        const std::size_t part = part_count - 1 - turn;
        const std::size_t first = part * part_rows;
        const std::size_t left = size.rows - first;
        const auto rows = static_cast<unsigned>(left < part_rows ? left : part_rows);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < rows * rank; i += block_threads) {
            factors[i] = right[first * rank + i];
        }
        __syncthreads();
        if (column >= size.columns) continue;
        float sums[rank] = {};
        const float* at = matrix + first * size.columns + column;
#pragma unroll 8
        for (unsigned row = 0; row < rows; ++row) {
            const float value = *at;
            at += size.columns;
            float own[rank];
            read_row<rank, true>(factors + row * rank, own);
#pragma unroll
            for (std::size_t k = 0; k < rank; ++k) sums[k] += value * own[k];
        }
        write_row<rank, aligned>(sums, parts + (part * size.columns + column) * rank);
    }
}

// A thread a number: few numbers of many parts.
__global__ void __launch_bounds__(block_threads)
    add_parts_kernel(const float* __restrict__ parts, std::size_t part_count, std::size_t count,
                     float* __restrict__ out) {
    const std::size_t threads = std::size_t{gridDim.x} * block_threads;
    for (std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x; i < count;
         i += threads) {
        double sum = 0;
#pragma unroll 16
        for (std::size_t part = 0; part < part_count; ++part) {
            sum += static_cast<double>(parts[part * count + i]);
        }
        out[i] = static_cast<float>(sum);
    }
}

constexpr unsigned orthonormal_threads = 512;
constexpr unsigned orthonormal_warps = orthonormal_threads / 32;
// At a time, in registers: 64 numbers a thread.
template <std::size_t rank>
constexpr std::size_t orthonormal_rows_held = 64 / rank * orthonormal_threads;

// Every thread gets the sums over all, added up in a fixed order.
template <std::size_t count>
__device__ void sum_over_block(double (&sums)[count]) {
    static_assert(count <= orthonormal_warps);
    __shared__ double parts[count * orthonormal_warps];
    __shared__ double results[count];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
#pragma unroll
    for (std::size_t k = 0; k < count; ++k) {
        const double sum = sum_of_warp(sums[k]);
        if (lane == 0) parts[k * orthonormal_warps + warp] = sum;
    }
    __syncthreads();
    if (warp < count) {
        const double own = lane < orthonormal_warps ? parts[warp * orthonormal_warps + lane] : 0;
        const double sum = sum_of_warp(own);
        if (lane == 0) results[warp] = sum;
    }
    __syncthreads();
#pragma unroll
    for (std::size_t k = 0; k < count; ++k) sums[k] = results[k];
}

// A thread's rows, so many at a time: in its registers from first to last if all are held at once
// (`stays`), else read and written by every pass.
template <std::size_t rank, bool aligned, bool stays>
class OrthonormalRows {
public:
    static constexpr std::size_t each = orthonormal_rows_held<rank> / orthonormal_threads;

    __device__ OrthonormalRows(std::size_t rows, float* columns) : rows_(rows), columns_(columns) {
        if constexpr (stays) read(0);
    }
    // Rows that are not there are zeros, which add nothing to a sum.
    template <class With>
    __device__ void for_each(const With& with) {
        if constexpr (stays) {
#pragma unroll
            for (std::size_t i = 0; i < each; ++i) with(held_[i]);
        } else {
            for (std::size_t first = 0; first < rows_; first += orthonormal_rows_held<rank>) {
                read(first);
#pragma unroll
                for (std::size_t i = 0; i < each; ++i) with(held_[i]);
                write(first);
            }
        }
    }
    __device__ void finish() {
        if constexpr (stays) write(0);
    }

private:
    __device__ void read(std::size_t first) {
#pragma unroll
        for (std::size_t i = 0; i < each; ++i) {
            const std::size_t row = first + i * orthonormal_threads + threadIdx.x;
#pragma unroll
            for (std::size_t k = 0; k < rank; ++k) held_[i][k] = 0;
            if (row < rows_) read_row<rank, aligned>(columns_ + row * rank, held_[i]);
        }
    }
    __device__ void write(std::size_t first) {
#pragma unroll
        for (std::size_t i = 0; i < each; ++i) {
            const std::size_t row = first + i * orthonormal_threads + threadIdx.x;
            if (row < rows_) write_row<rank, aligned>(held_[i], columns_ + row * rank);
        }
    }
    std::size_t rows_;
    float* columns_;
    float held_[each][rank];
};

// What makes a column of length one, and what is then taken of it from each column behind it.
template <std::size_t rank>
struct Removal {
    float scale = 1;
    float along[rank] = {};
};

// Columns k … of the rank; `done` is of column k − 1. One pass finishes that column and forms the
// products of column k with itself and with all behind it: column by column the differences are
// taken in the CPU's order, with one sum over the block for each column.
template <std::size_t k, std::size_t rank, class Rows>
__device__ void orthonormalise_from(Rows& rows, double (&before)[rank], const Removal<rank>& done) {
    constexpr std::size_t products = rank - k;
    double sums[k == 0 ? 2 * rank - 1 : products] = {};
    rows.for_each([&](float(&row)[rank]) {
        if constexpr (k > 0) {
            row[k - 1] *= done.scale;
#pragma unroll
            for (std::size_t j = k; j < rank; ++j) row[j] -= done.along[j] * row[k - 1];
        }
        const auto own = static_cast<double>(row[k]);
#pragma unroll
        for (std::size_t j = k; j < rank; ++j) sums[j - k] += own * static_cast<double>(row[j]);
        if constexpr (k == 0) {
#pragma unroll
            for (std::size_t j = 1; j < rank; ++j) {
                sums[rank - 1 + j] += static_cast<double>(row[j]) * static_cast<double>(row[j]);
            }
        }
    });
    sum_over_block(sums);
    if constexpr (k == 0) {
        before[0] = sums[0];
#pragma unroll
        for (std::size_t j = 1; j < rank; ++j) before[j] = sums[rank - 1 + j];
    }
    constexpr double dependent = 1e-10;  // both as on the CPU
    constexpr double smallest = 1e-76;
    const double left = sums[0];
    const bool counts = left > dependent * before[k] && left > smallest && isfinite(left);
    Removal<rank> next;
    next.scale = counts ? static_cast<float>(1 / sqrt(left)) : 0.0F;
#pragma unroll
    for (std::size_t j = k + 1; j < rank; ++j) {
        next.along[j] = static_cast<float>(sums[j - k] * static_cast<double>(next.scale));
    }
    if constexpr (k + 1 < rank) {
        orthonormalise_from<k + 1>(rows, before, next);
    } else {
        rows.for_each([&](float(&row)[rank]) { row[k] *= next.scale; });
    }
}

template <std::size_t rank, bool aligned, bool stays>
__global__ void __launch_bounds__(orthonormal_threads)
    orthonormalise_kernel(std::size_t row_count, float* columns) {
    OrthonormalRows<rank, aligned, stays> rows(row_count, columns);
    double before[rank];
    orthonormalise_from<0>(rows, before, Removal<rank>{});
    rows.finish();
}

constexpr unsigned rows_of_outer = 32;  // of a block

// A thread takes `each` neighbouring columns, which are written at once.
template <std::size_t rank, unsigned each>
__global__ void __launch_bounds__(block_threads)
    outer_kernel(MatrixSize size, const float* __restrict__ left, const float* __restrict__ right,
                 float* __restrict__ out) {
    static_assert(each == 1 || each == 4);
    __shared__ float4 memory[rows_of_outer * rank / 4];  // so that rows are read by fours
    auto* own_left = reinterpret_cast<float*>(memory);
    const std::size_t column = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) * each;
    float factors[each][rank] = {};
    if (column < size.columns) {
#pragma unroll
        for (unsigned part = 0; part < each; ++part) {
            read_row<rank, false>(right + (column + part) * rank, factors[part]);
        }
    }
    const std::size_t stride = std::size_t{gridDim.y} * rows_of_outer;
    for (std::size_t first = std::size_t{blockIdx.y} * rows_of_outer; first < size.rows;
         first += stride) {
        const std::size_t rest = size.rows - first;
        const auto rows = static_cast<unsigned>(rest < rows_of_outer ? rest : rows_of_outer);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < rows * rank; i += block_threads) {
            own_left[i] = left[first * rank + i];
        }
        __syncthreads();
        if (column >= size.columns) continue;
        float* at = out + first * size.columns + column;
#pragma unroll 4
        for (unsigned row = 0; row < rows; ++row) {
            float own[rank];
            read_row<rank, true>(own_left + row * rank, own);
            float sums[each] = {};
#pragma unroll
            for (unsigned part = 0; part < each; ++part) {
#pragma unroll
                for (std::size_t k = 0; k < rank; ++k) sums[part] += own[k] * factors[part][k];
            }
            if constexpr (each == 4) {
                *reinterpret_cast<float4*>(at) = make_float4(sums[0], sums[1], sums[2], sums[3]);
            } else {
                *at = sums[0];
            }
            at += size.columns;
        }
    }
}

// Calls `launch.operator()<rank>()` for the rank of this size.
template <class Launch>
cudaError_t with_rank(std::size_t rank, const Launch& launch) {
    switch (rank) {
        case 1: launch.template operator()<1>(); break;
        case 2: launch.template operator()<2>(); break;
        case 3: launch.template operator()<3>(); break;
        case 4: launch.template operator()<4>(); break;
        case 5: launch.template operator()<5>(); break;
        case 6: launch.template operator()<6>(); break;
        case 7: launch.template operator()<7>(); break;
        case 8: launch.template operator()<8>(); break;
        default: return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

unsigned at_most(std::size_t count, std::size_t most) {
    return static_cast<unsigned>(count < most ? count : most);
}
unsigned blocks_of(std::size_t count, std::size_t each) {
    return static_cast<unsigned>((count + each - 1) / each);
}

}  // namespace

std::size_t power_sgd_workspace(const MatrixSize& size) {
    return part_count_of(size) * size.columns * size.rank;
}

cudaError_t launch_times(const MatrixSize& size, const float* matrix, const float* right,
                         float* out, cudaStream_t stream) {
    if (size.rows == 0) return cudaSuccess;
    const unsigned blocks = blocks_of(size.rows, rows_of_times_block);
    return with_rank(size.rank, [&]<std::size_t rank>() {
        const auto kernel =
            lies_at(right, sizeof(float4)) ? times_kernel<rank, true> : times_kernel<rank, false>;
        kernel<<<blocks, times_threads, 0, stream>>>(size, matrix, right, out);
    });
}

cudaError_t launch_transposed_times(const MatrixSize& size, const float* matrix, const float* right,
                                    float* workspace, float* out, cudaStream_t stream) {
    if (size.columns == 0) return cudaSuccess;
    const std::size_t part_count = part_count_of(size);
    const std::size_t count = size.columns * size.rank;
    if (part_count > 0) {
        const dim3 grid(blocks_of(size.columns, block_threads), at_most(part_count, grid_rows_max));
        const cudaError_t launched = with_rank(size.rank, [&]<std::size_t rank>() {
            const auto kernel = lies_at(workspace, sizeof(float4)) ? transposed_kernel<rank, true>
                                                                   : transposed_kernel<rank, false>;
            kernel<<<grid, block_threads, 0, stream>>>(size, rows_of_part(size), part_count, matrix,
                                                       right, workspace);
        });
        if (launched != cudaSuccess) return launched;
    }
    const unsigned blocks = blocks_for(count, 1);
    add_parts_kernel<<<blocks, block_threads, 0, stream>>>(workspace, part_count, count, out);
    return cudaGetLastError();
}

cudaError_t launch_orthonormalise(std::size_t rows, std::size_t rank, float* columns,
                                  cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    return with_rank(rank, [&]<std::size_t own_rank>() {
        const bool stays = rows <= orthonormal_rows_held<own_rank>;
        const auto kernel = lies_at(columns, sizeof(float4))
                                ? (stays ? orthonormalise_kernel<own_rank, true, true>
                                         : orthonormalise_kernel<own_rank, true, false>)
                                : (stays ? orthonormalise_kernel<own_rank, false, true>
                                         : orthonormalise_kernel<own_rank, false, false>);
        kernel<<<1, orthonormal_threads, 0, stream>>>(rows, columns);
    });
}

cudaError_t launch_outer(const MatrixSize& size, const float* left, const float* right, float* out,
                         cudaStream_t stream) {
    if (size.rows == 0 || size.columns == 0) return cudaSuccess;
    const bool fours = size.columns % 4 == 0 && lies_at(out, sizeof(float4));
    const dim3 grid(blocks_of(size.columns, block_threads * (fours ? 4 : 1)),
                    at_most((size.rows + rows_of_outer - 1) / rows_of_outer, grid_rows_max));
    return with_rank(size.rank, [&]<std::size_t rank>() {
        const auto kernel = fours ? outer_kernel<rank, 4> : outer_kernel<rank, 1>;
        kernel<<<grid, block_threads, 0, stream>>>(size, left, right, out);
    });
}

}  // namespace ukemi::kernels::cuda
