// matrix_product.cu — a tiled product: 64 × 64 of C a block, 4 × 4 a thread, 16 of the inner
// dimension at a time through shared memory.
#include "kernels/cuda/matrix_product.hpp"

#include <algorithm>

namespace ukemi::kernels::cuda {

namespace {

constexpr int tile = 64;
constexpr int depth = 16;
constexpr int each = 4;
constexpr int grid_z_max = 65'535;
// Of one view, or of C: where product b begins.
__host__ __device__ std::int64_t begin_of(const ProductSize& size, std::int64_t product,
                                          std::int64_t batch, std::int64_t group) {
    const std::int64_t each = size.batches / size.groups;
    return product / each * group + product % each * batch;
}

constexpr int product_threads = (tile / each) * (tile / each);

__global__ void __launch_bounds__(product_threads)
    product_kernel(ProductSize size, MatrixView a, MatrixView b, float* __restrict__ c,
                   std::int64_t c_batch, bool add, std::int64_t c_group) {
    __shared__ float part_a[depth][tile + 1];
    __shared__ float part_b[depth][tile + 1];
    const int first_row = static_cast<int>(blockIdx.y) * tile;
    const int first_column = static_cast<int>(blockIdx.x) * tile;
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / (tile / each) * each;
    const int column = thread % (tile / each) * each;
    // A grid has fewer places in z than there may be products.
    for (std::int64_t product = blockIdx.z; product < size.batches; product += gridDim.z) {
        const float* from_a = a.at + begin_of(size, product, a.batch, a.group);
        const float* from_b = b.at + begin_of(size, product, b.batch, b.group);
        float* to_c = c + begin_of(size, product, c_batch, c_group);
        float sum[each][each] = {};
        for (int begin = 0; begin < size.inner; begin += depth) {
            for (int i = thread; i < tile * depth; i += product_threads) {
                // Neighbouring threads read along whichever way lies together.
                const int a_row = a.column == 1 ? i / depth : i % tile;
                const int a_inner = a.column == 1 ? i % depth : i / tile;
                const bool in_a = first_row + a_row < size.rows && begin + a_inner < size.inner;
                part_a[a_inner][a_row] =
                    in_a ? from_a[(first_row + a_row) * a.row + (begin + a_inner) * a.column]
                         : 0.0F;
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
                float& into = to_c[static_cast<std::int64_t>(c_row) * size.columns + c_column];
                into = add ? into + sum[i][j] : sum[i][j];
            }
        }
    }
}

__global__ void __launch_bounds__(product_threads)
    pointers_kernel(ProductSize size, MatrixView a, MatrixView b, float* c, std::int64_t c_batch,
                    std::int64_t c_group, ProductPointers pointers) {
    const int product =
        static_cast<int>(blockIdx.x) * product_threads + static_cast<int>(threadIdx.x);
    if (product >= size.batches) return;
    pointers.a[product] = a.at + begin_of(size, product, a.batch, a.group);
    pointers.b[product] = b.at + begin_of(size, product, b.batch, b.group);
    pointers.c[product] = c + begin_of(size, product, c_batch, c_group);
}

}  // namespace

cudaError_t launch_product_pointers(const ProductSize& size, const MatrixView& a,
                                    const MatrixView& b, float* c, std::int64_t c_batch,
                                    std::int64_t c_group, const ProductPointers& pointers,
                                    cudaStream_t stream) {
    if (size.batches == 0) return cudaSuccess;
    const auto blocks =
        static_cast<unsigned>((size.batches + product_threads - 1) / product_threads);
    pointers_kernel<<<blocks, product_threads, 0, stream>>>(size, a, b, c, c_batch, c_group,
                                                            pointers);
    return cudaGetLastError();
}

cudaError_t launch_product(const ProductSize& size, const MatrixView& a, const MatrixView& b,
                           float* c, std::int64_t c_batch, bool add, cudaStream_t stream,
                           std::int64_t c_group) {
    if (size.rows == 0 || size.columns == 0 || size.batches == 0) return cudaSuccess;
    const dim3 blocks(static_cast<unsigned>((size.columns + tile - 1) / tile),
                      static_cast<unsigned>((size.rows + tile - 1) / tile),
                      static_cast<unsigned>(std::min(size.batches, grid_z_max)));
    product_kernel<<<blocks, product_threads, 0, stream>>>(size, a, b, c, c_batch, add, c_group);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
