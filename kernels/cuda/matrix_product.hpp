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

namespace ukemi::kernels::cuda {

// Products stand in groups of `each` = batches ÷ groups (replicas of a model, say, and their
// samples): element (i, j) of product b lies at
// `at[b ÷ each · group + b mod each · batch + i · row + j · column]`; row or column is 1.
struct MatrixView {
    const float* at = nullptr;
    std::int64_t row = 1;
    std::int64_t column = 1;
    std::int64_t batch = 0;
    std::int64_t group = 0;
    MatrixView transposed() const { return {at, column, row, batch, group}; }
};
inline MatrixView rows_of(const float* at, std::int64_t columns, std::int64_t batch = 0,
                          std::int64_t group = 0) {
    return {at, columns, 1, batch, group};
}

struct ProductSize {
    int rows = 0;
    int columns = 0;
    int inner = 0;
    int batches = 1;
    int groups = 1;  // batches are a multiple of it
};

// C = A B, or C += A B; C is whole, row after row, each product `c_batch` after the one before it
// in its group.
cudaError_t launch_product(const ProductSize& size, const MatrixView& a, const MatrixView& b,
                           float* c, std::int64_t c_batch, bool add, cudaStream_t stream,
                           std::int64_t c_group = 0);

// Where the matrices of every product begin, for libraries that want to be told one by one.
struct ProductPointers {
    const float** a = nullptr;
    const float** b = nullptr;
    float** c = nullptr;
};
cudaError_t launch_product_pointers(const ProductSize& size, const MatrixView& a,
                                    const MatrixView& b, float* c, std::int64_t c_batch,
                                    std::int64_t c_group, const ProductPointers& pointers,
                                    cudaStream_t stream);

class MatrixProducts {
public:
    enum class Use : std::uint8_t { cublas_if_there, own };
    // At most so many products at once where groups have several of them.
    explicit MatrixProducts(cudaStream_t stream, Use use = Use::cublas_if_there,
                            std::size_t grouped_most = 0);
    ~MatrixProducts();
    MatrixProducts(const MatrixProducts&) = delete;
    MatrixProducts& operator=(const MatrixProducts&) = delete;

    // Launches only.
    void product(const ProductSize& size, const MatrixView& a, const MatrixView& b, float* c,
                 std::int64_t c_batch, bool add, std::int64_t c_group = 0);
    std::string by() const;  // "cuBLAS 130001", "own kernel"

private:
    struct Library;
    cudaStream_t stream_;
    std::unique_ptr<Library> library_;  // null: our own
};

}  // namespace ukemi::kernels::cuda
