// power_sgd.hpp — PowerSGD's steps on the device: kernels/codecs/power_sgd.hpp, with sums in
// another order (products differ by rounding), `outer` with equal bits. Matrices lie row after row.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace ukemi::kernels::cuda {

inline constexpr std::size_t power_sgd_rank_max = 8;

struct MatrixSize {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t rank = 1;  // 1 … power_sgd_rank_max
};

// Floats of workspace of launch_transposed_times.
std::size_t power_sgd_workspace(const MatrixSize& size);

// out (rows × rank) = matrix · right (columns × rank). Reads the matrix once.
cudaError_t launch_times(const MatrixSize& size, const float* matrix, const float* right,
                         float* out, cudaStream_t stream);
// out (columns × rank) = matrixᵀ · right (rows × rank). Reads the matrix once.
cudaError_t launch_transposed_times(const MatrixSize& size, const float* matrix, const float* right,
                                    float* workspace, float* out, cudaStream_t stream);
// The `rank` columns of rows × rank become orthonormal; dependent ones zero. One block.
cudaError_t launch_orthonormalise(std::size_t rows, std::size_t rank, float* columns,
                                  cudaStream_t stream);
// out (rows × columns) = left (rows × rank) · rightᵀ. Writes the matrix once.
cudaError_t launch_outer(const MatrixSize& size, const float* left, const float* right, float* out,
                         cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
