// matrix_products.cpp — cuBLAS found at run time, or our own kernel.
#include <cublas_v2.h>
#include <dlfcn.h>

#include <stdexcept>

#include "base/invariant.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/matrix_product.hpp"

namespace ukemi::kernels::cuda {

// cuBLAS's calls by name, and one handle of it.
struct MatrixProducts::Library {
    static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // its own on Hopper

    Library(void* opened, cudaStream_t stream, std::size_t grouped_most)
        : shared(opened),
          workspace(workspace_bytes),
          ways_in(2 * grouped_most),
          ways_out(grouped_most) {
        const auto create = find<decltype(&cublasCreate_v2)>("cublasCreate_v2");
        const auto set_stream = find<decltype(&cublasSetStream_v2)>("cublasSetStream_v2");
        const auto set_workspace = find<decltype(&cublasSetWorkspace_v2)>("cublasSetWorkspace_v2");
        const auto set_mode = find<decltype(&cublasSetMathMode)>("cublasSetMathMode");
        const auto get_version = find<decltype(&cublasGetVersion_v2)>("cublasGetVersion_v2");
        destroy = find<decltype(destroy)>("cublasDestroy_v2");
        gemm = find<decltype(gemm)>("cublasSgemmStridedBatched");
        gemm_of_each = find<decltype(gemm_of_each)>("cublasSgemmBatched");
        require(create(&handle));
        require(set_stream(handle, stream));
        // Its own memory would be allocated in the middle of what is captured as a graph.
        require(set_workspace(handle, workspace.data(), workspace_bytes));
        require(set_mode(handle, CUBLAS_PEDANTIC_MATH));
        require(get_version(handle, &version));
    }
    ~Library() {
        if (handle != nullptr) static_cast<void>(destroy(handle));
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <class Function>
    Function find(const char* name) const {
        void* found = dlsym(shared, name);
        if (found == nullptr) throw std::runtime_error(std::string("cuBLAS has no ") + name);
        return reinterpret_cast<Function>(found);
    }
    static void require(cublasStatus_t status) {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw std::runtime_error("cuBLAS: status " + std::to_string(static_cast<int>(status)));
    }

    void* shared;
    Buffer<std::byte> workspace;
    Buffer<const float*> ways_in;  // where the matrices of grouped products begin
    Buffer<float*> ways_out;
    cublasHandle_t handle = nullptr;
    int version = 0;
    decltype(&cublasDestroy_v2) destroy = nullptr;
    decltype(&cublasSgemmStridedBatched) gemm = nullptr;
    decltype(&cublasSgemmBatched) gemm_of_each = nullptr;
};

MatrixProducts::MatrixProducts(cudaStream_t stream, Use use, std::size_t grouped_most)
    : stream_(stream) {
    if (use == Use::own) return;
    // Never closed: other objects use it too, and the driver keeps pointers into it.
    const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    void* shared = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (shared != nullptr) library_ = std::make_unique<Library>(shared, stream, grouped_most);
}

MatrixProducts::~MatrixProducts() = default;

std::string MatrixProducts::by() const {
    return library_ ? "cuBLAS " + std::to_string(library_->version) : "own kernel";
}

namespace {

// How cuBLAS takes a matrix of ours. Its matrices lie by columns: C = A B is asked for as
// Cᵀ = Bᵀ Aᵀ. One by rows is then what it wants; one by columns is to be transposed.
struct Laid {
    cublasOperation_t operation;
    int leading;  // from one line of numbers that lie together to the next
};
Laid laid(const MatrixView& view, int rows, int columns) {
    INVARIANT(view.row == 1 || view.column == 1);
    const bool by_rows = view.column == 1;
    const int line = by_rows ? columns : rows;
    const int lines = by_rows ? rows : columns;
    const auto stride = static_cast<int>(by_rows ? view.row : view.column);
    // Nothing comes after a single line, so its stride may be anything; cuBLAS wants its length.
    const int leading = lines == 1 ? line : stride;
    INVARIANT(leading >= line);
    return {by_rows ? CUBLAS_OP_N : CUBLAS_OP_T, leading};
}

}  // namespace

void MatrixProducts::product(const ProductSize& size, const MatrixView& a, const MatrixView& b,
                             float* c, std::int64_t c_batch, bool add, std::int64_t c_group) {
    INVARIANT(size.groups >= 1 && size.batches % size.groups == 0);
    // Looked at in any case: what cuBLAS refuses shows on a machine without it, too.
    const Laid of_a = laid(a, size.rows, size.inner);
    const Laid of_b = laid(b, size.inner, size.columns);
    if (!library_) {
        check(launch_product(size, a, b, c, c_batch, add, stream_, c_group));
        return;
    }
    const float one = 1;
    const float before = add ? 1 : 0;
    Library& by = *library_;
    if (size.groups == 1 || size.groups == size.batches) {  // one stride leads through all
        const bool grouped = size.groups > 1;
        Library::require(by.gemm(by.handle, of_b.operation, of_a.operation, size.columns, size.rows,
                                 size.inner, &one, b.at, of_b.leading, grouped ? b.group : b.batch,
                                 a.at, of_a.leading, grouped ? a.group : a.batch, &before, c,
                                 size.columns, grouped ? c_group : c_batch, size.batches));
        return;
    }
    const auto count = static_cast<std::size_t>(size.batches);
    INVARIANT(count <= by.ways_out.size());
    const ProductPointers ways{by.ways_in.data(), by.ways_in.data() + count, by.ways_out.data()};
    check(launch_product_pointers(size, a, b, c, c_batch, c_group, ways, stream_));
    Library::require(by.gemm_of_each(by.handle, of_b.operation, of_a.operation, size.columns,
                                     size.rows, size.inner, &one, ways.b, of_b.leading, ways.a,
                                     of_a.leading, &before, ways.c, size.columns, size.batches));
}

}  // namespace ukemi::kernels::cuda
