// matrix_product.hpp — products of small matrices, many of one shape at once: by cuBLAS where the
// machine has it, else by a kernel of our own.
//
// cuBLAS is looked for when a program runs, not when it is linked: it is larger than everything
// else together, and a machine with a driver alone has none. Both run in single precision as it is
// (no TF32) and in an order of their own; each gives equal bits in every run on one device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

namespace ukemi::cuda {

// Element (i, j) of product b lies at `at[b · batch + i · row + j · column]`; row or column is 1.
struct MatrixView {
    const float* at = nullptr;
    std::int64_t row = 1;
    std::int64_t column = 1;
    std::int64_t batch = 0;
    MatrixView transposed() const { return {at, column, row, batch}; }
};
inline MatrixView rows_of(const float* at, std::int64_t columns, std::int64_t batch = 0) {
    return {at, columns, 1, batch};
}

struct ProductSize {
    int rows = 0;
    int columns = 0;
    int inner = 0;
    int batches = 1;
};

// C = A B, or C += A B; C is whole, row after row, each product `c_batch` after the one before.
cudaError_t launch_product(const ProductSize& size, const MatrixView& a, const MatrixView& b,
                           float* c, std::int64_t c_batch, bool add, cudaStream_t stream);

class MatrixProducts {
public:
    enum class Use : std::uint8_t { cublas_if_there, own };
    explicit MatrixProducts(cudaStream_t stream, Use use = Use::cublas_if_there);
    ~MatrixProducts();
    MatrixProducts(const MatrixProducts&) = delete;
    MatrixProducts& operator=(const MatrixProducts&) = delete;

    // Launches only.
    void product(const ProductSize& size, const MatrixView& a, const MatrixView& b, float* c,
                 std::int64_t c_batch, bool add);
    std::string by() const;  // "cuBLAS 130001", "own kernel"

private:
    struct Library;
    cudaStream_t stream_;
    std::unique_ptr<Library> library_;  // null: our own
};

}  // namespace ukemi::cuda
