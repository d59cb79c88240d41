// power_sgd.cu — tall and thin products. The rank is a template parameter, so that sums stay in
// registers.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/power_sgd.hpp"

namespace ukemi::kernels::cuda {

namespace {

constexpr std::size_t rows_of_part = 64;  // that one block of the transposed product takes
constexpr std::size_t grid_rows_max = 32'768;

constexpr unsigned warps = block_threads / 32;

// What the threads of a block have summed, added up in a fixed order: in[k] becomes out[k], which
// only the first `count` threads have. `parts` is shared, and free again after the next barrier.
template <std::size_t count>
__device__ double added_over_block(const float (&in)[count], double (*parts)[warps]) {
    static_assert(count <= block_threads);
#pragma unroll
    for (std::size_t k = 0; k < count; ++k) {
        auto sum = static_cast<double>(in[k]);
#pragma unroll
        for (unsigned away = 16; away > 0; away /= 2) {
            sum += __shfl_down_sync(0xFFFFFFFFU, sum, away);
        }
        if (threadIdx.x % 32 == 0) parts[k][threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= count) return 0;
    double all = 0;
    for (unsigned warp = 0; warp < warps; ++warp) all += parts[threadIdx.x][warp];
    return all;
}

// A block takes several rows at a time, so that it reads `right` once for all of them.
template <std::size_t rank>
__global__ void __launch_bounds__(block_threads)
    times_kernel(MatrixSize size, const float* __restrict__ matrix, const float* __restrict__ right,
                 float* __restrict__ out) {
    constexpr std::size_t together = rank <= 4 ? 8 : 4;
    __shared__ double parts[together * rank][warps];
    const std::size_t stride = gridDim.x * together;
    for (std::size_t first = blockIdx.x * together; first < size.rows; first += stride) {
        const std::size_t rows = size.rows - first < together ? size.rows - first : together;
        float sums[together * rank] = {};
        for (std::size_t column = threadIdx.x; column < size.columns; column += block_threads) {
            float factors[rank];
#pragma unroll
            for (std::size_t k = 0; k < rank; ++k) factors[k] = right[column * rank + k];
#pragma unroll
            for (std::size_t row = 0; row < together; ++row) {
                if (row >= rows) continue;
                const float value = matrix[(first + row) * size.columns + column];
#pragma unroll
                for (std::size_t k = 0; k < rank; ++k) sums[row * rank + k] += value * factors[k];
            }
        }
        const double sum = added_over_block(sums, parts);
        if (threadIdx.x < rows * rank) out[first * rank + threadIdx.x] = static_cast<float>(sum);
        __syncthreads();
    }
}

// A thread a column, over a part of the rows: parts[part][column][k].
template <std::size_t rank>
__global__ void __launch_bounds__(block_threads)
    transposed_kernel(MatrixSize size, const float* __restrict__ matrix,
                      const float* __restrict__ right, float* __restrict__ parts) {
    __shared__ float factors[rows_of_part * rank];
    const std::size_t column = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    const std::size_t part_count = (size.rows + rows_of_part - 1) / rows_of_part;
    for (std::size_t part = blockIdx.y; part < part_count; part += gridDim.y) {
        const std::size_t first = part * rows_of_part;
        const std::size_t rows =
            size.rows - first < rows_of_part ? size.rows - first : rows_of_part;
        __syncthreads();
        for (std::size_t i = threadIdx.x; i < rows * rank; i += block_threads) {
            factors[i] = right[first * rank + i];
        }
        __syncthreads();
        if (column >= size.columns) continue;
        float sums[rank] = {};
#pragma unroll 8
        for (std::size_t row = 0; row < rows; ++row) {
            const float value = matrix[(first + row) * size.columns + column];
#pragma unroll
            for (std::size_t k = 0; k < rank; ++k) sums[k] += value * factors[row * rank + k];
        }
#pragma unroll
        for (std::size_t k = 0; k < rank; ++k) {
            parts[(part * size.columns + column) * rank + k] = sums[k];
        }
    }
}

__global__ void __launch_bounds__(block_threads)
    add_parts_kernel(const float* __restrict__ parts, std::size_t part_count, std::size_t count,
                     float* __restrict__ out) {
    for_elements(count, [&](std::size_t i) {
        double sum = 0;
        for (std::size_t part = 0; part < part_count; ++part) {
            sum += static_cast<double>(parts[part * count + i]);
        }
        out[i] = static_cast<float>(sum);
    });
}

__device__ double column_product(std::size_t rows, std::size_t rank, const float* columns,
                                 std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t row = threadIdx.x; row < rows; row += block_threads) {
        sum += static_cast<double>(columns[row * rank + a]) *
               static_cast<double>(columns[row * rank + b]);
    }
    return block_sum(sum);
}

__global__ void __launch_bounds__(block_threads)
    orthonormalise_kernel(std::size_t rows, std::size_t rank, float* columns) {
    for (std::size_t k = 0; k < rank; ++k) {
        const double before = column_product(rows, rank, columns, k, k);
        for (std::size_t j = 0; j < k; ++j) {
            const auto along = static_cast<float>(column_product(rows, rank, columns, j, k));
            for (std::size_t row = threadIdx.x; row < rows; row += block_threads) {
                columns[row * rank + k] -= along * columns[row * rank + j];
            }
            __syncthreads();
        }
        const double left = column_product(rows, rank, columns, k, k);
        constexpr double dependent = 1e-10;  // both as on the CPU
        constexpr double smallest = 1e-76;
        const bool counts = left > dependent * before && left > smallest && isfinite(left);
        const float scale = counts ? static_cast<float>(1 / sqrt(left)) : 0.0F;
        for (std::size_t row = threadIdx.x; row < rows; row += block_threads) {
            columns[row * rank + k] *= scale;
        }
        __syncthreads();
    }
}

template <std::size_t rank>
__global__ void __launch_bounds__(block_threads)
    outer_kernel(MatrixSize size, const float* __restrict__ left, const float* __restrict__ right,
                 float* __restrict__ out) {
    const std::size_t column = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    if (column >= size.columns) return;
    float factors[rank];
#pragma unroll
    for (std::size_t k = 0; k < rank; ++k) factors[k] = right[column * rank + k];
    for (std::size_t row = blockIdx.y; row < size.rows; row += gridDim.y) {
        float sum = 0;
#pragma unroll
        for (std::size_t k = 0; k < rank; ++k) sum += left[row * rank + k] * factors[k];
        out[row * size.columns + column] = sum;
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
unsigned column_blocks(const MatrixSize& size) {
    return static_cast<unsigned>((size.columns + block_threads - 1) / block_threads);
}
std::size_t part_count_of(const MatrixSize& size) {
    return (size.rows + rows_of_part - 1) / rows_of_part;
}

}  // namespace

std::size_t power_sgd_workspace(const MatrixSize& size) {
    return part_count_of(size) * size.columns * size.rank;
}

cudaError_t launch_times(const MatrixSize& size, const float* matrix, const float* right,
                         float* out, cudaStream_t stream) {
    if (size.rows == 0) return cudaSuccess;
    const unsigned blocks = at_most(size.rows, grid_rows_max);
    return with_rank(size.rank, [&]<std::size_t rank>() {
        times_kernel<rank><<<blocks, block_threads, 0, stream>>>(size, matrix, right, out);
    });
}

cudaError_t launch_transposed_times(const MatrixSize& size, const float* matrix, const float* right,
                                    float* workspace, float* out, cudaStream_t stream) {
    if (size.columns == 0) return cudaSuccess;
    const std::size_t part_count = part_count_of(size);
    const std::size_t count = size.columns * size.rank;
    if (part_count > 0) {
        const dim3 grid(column_blocks(size), at_most(part_count, grid_rows_max));
        const cudaError_t launched = with_rank(size.rank, [&]<std::size_t rank>() {
            transposed_kernel<rank>
                <<<grid, block_threads, 0, stream>>>(size, matrix, right, workspace);
        });
        if (launched != cudaSuccess) return launched;
    }
    const unsigned blocks = blocks_for(count, 4);
    add_parts_kernel<<<blocks, block_threads, 0, stream>>>(workspace, part_count, count, out);
    return cudaGetLastError();
}

cudaError_t launch_orthonormalise(std::size_t rows, std::size_t rank, float* columns,
                                  cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    orthonormalise_kernel<<<1, block_threads, 0, stream>>>(rows, rank, columns);
    return cudaGetLastError();
}

cudaError_t launch_outer(const MatrixSize& size, const float* left, const float* right, float* out,
                         cudaStream_t stream) {
    if (size.rows == 0 || size.columns == 0) return cudaSuccess;
    const dim3 grid(column_blocks(size), at_most(size.rows, 64));
    return with_rank(size.rank, [&]<std::size_t rank>() {
        outer_kernel<rank><<<grid, block_threads, 0, stream>>>(size, left, right, out);
    });
}

}  // namespace ukemi::kernels::cuda
