// power_sgd.hpp — the steps of PowerSGD as plain functions: what its kernels mean.
//
// Matrices are stored row after row; factors have `rank` columns.
#pragma once

#include <cstddef>
#include <span>

namespace ukemi::kernels {

// out (rows × rank) = matrix (rows × columns) · right (columns × rank).
void times(std::span<const float> matrix, std::span<const float> right, std::size_t columns,
           std::size_t rank, std::span<float> out);
// out (columns × rank) = matrixᵀ · right (rows × rank).
void transposed_times(std::span<const float> matrix, std::span<const float> right,
                      std::size_t columns, std::size_t rank, std::span<float> out);
// Gram and Schmidt, modified: columns become orthonormal in their order; dependent ones zero.
void orthonormalise(std::span<float> columns, std::size_t rank);
// out (rows × columns) = left (rows × rank) · rightᵀ, right columns × rank.
void outer(std::span<const float> left, std::span<const float> right, std::size_t rank,
           std::span<float> out);

}  // namespace ukemi::kernels
