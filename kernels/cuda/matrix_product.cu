// matrix_product.cu — a tiled product: 64 × 64 of C a block, 4 × 4 a thread, 16 of the inner
// dimension at a time through shared memory.
#include "kernels/cuda/matrix_product.hpp"

namespace ukemi::cuda {

namespace {

constexpr int tile = 64;
constexpr int depth = 16;
constexpr int each = 4;
constexpr int product_threads = (tile / each) * (tile / each);

__global__ void __launch_bounds__(product_threads)
    product_kernel(ProductSize size, MatrixView a, MatrixView b, float* __restrict__ c,
                   std::int64_t c_batch, bool add) {
    __shared__ float part_a[depth][tile + 1];
    __shared__ float part_b[depth][tile + 1];
    const int first_row = static_cast<int>(blockIdx.y) * tile;
    const int first_column = static_cast<int>(blockIdx.x) * tile;
    const float* from_a = a.at + blockIdx.z * a.batch;
    const float* from_b = b.at + blockIdx.z * b.batch;
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / (tile / each) * each;
    const int column = thread % (tile / each) * each;
    float sum[each][each] = {};
    for (int begin = 0; begin < size.inner; begin += depth) {
        for (int i = thread; i < tile * depth; i += product_threads) {
            // Neighbouring threads read along whichever way lies together.
            const int a_row = a.column == 1 ? i / depth : i % tile;
            const int a_inner = a.column == 1 ? i % depth : i / tile;
            const bool in_a = first_row + a_row < size.rows && begin + a_inner < size.inner;
            part_a[a_inner][a_row] =
                in_a ? from_a[(first_row + a_row) * a.row + (begin + a_inner) * a.column] : 0.0F;
            const int b_column = b.column == 1 ? i % tile : i / depth;
            const int b_inner = b.column == 1 ? i / tile : i % depth;
            const bool in_b =
                first_column + b_column < size.columns && begin + b_inner < size.inner;
            part_b[b_inner][b_column] =
                in_b ? from_b[(begin + b_inner) * b.row + (first_column + b_column) * b.column]
                     : 0.0F;
        }
        __syncthreads();
        for (int inner = 0; inner < depth; ++inner) {
            for (int i = 0; i < each; ++i) {
                for (int j = 0; j < each; ++j) {
                    sum[i][j] =
                        __fmaf_rn(part_a[inner][row + i], part_b[inner][column + j], sum[i][j]);
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < each; ++i) {
        for (int j = 0; j < each; ++j) {
            const int c_row = first_row + row + i;
            const int c_column = first_column + column + j;
            if (c_row >= size.rows || c_column >= size.columns) continue;
            float& into = c[blockIdx.z * c_batch + static_cast<std::int64_t>(c_row) * size.columns +
                            c_column];
            into = add ? into + sum[i][j] : sum[i][j];
        }
    }
}

}  // namespace

cudaError_t launch_product(const ProductSize& size, const MatrixView& a, const MatrixView& b,
                           float* c, std::int64_t c_batch, bool add, cudaStream_t stream) {
    if (size.rows == 0 || size.columns == 0 || size.batches == 0) return cudaSuccess;
    const dim3 blocks(static_cast<unsigned>((size.columns + tile - 1) / tile),
                      static_cast<unsigned>((size.rows + tile - 1) / tile),
                      static_cast<unsigned>(size.batches));
    product_kernel<<<blocks, product_threads, 0, stream>>>(size, a, b, c, c_batch, add);
    return cudaGetLastError();
}

}  // namespace ukemi::cuda
