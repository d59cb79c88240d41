// device_model.hpp — a Model whose gradients are computed on a GPU, for callers that train with a
// Model and keep weights and gradients on the host.
//
// A gradient uploads weights and samples and is computed by a DeviceNetwork on the workspace's
// stream. It comes back in parts, from the last tensors to the first, each as soon as the backward
// pass has left it: copied on a stream of its own, added to the caller's, and said to be finished,
// so that its exchange hides behind the rest. Sums run in another order than the host's; one device
// gives equal bits in every run. Evaluation is the host's.
#pragma once

#include <memory>

#include "kernels/cuda/matrix_product.hpp"
#include "kernels/model.hpp"

namespace ukemi::kernels::cuda {

struct DeviceModelSettings {
    int device = 0;
    std::size_t part_bytes = 256 << 10;  // of the gradient, at least, but for the last part
    MatrixProducts::Use products = MatrixProducts::Use::cublas_if_there;
};

// Make_model's errors; throws CudaError where that GPU does not answer. A workspace belongs to the
// thread that made it, and makes more room when a larger batch comes.
std::unique_ptr<Model> make_device_model(const ModelSpec& spec, const DataSet& data,
                                         const DeviceModelSettings& settings);

}  // namespace ukemi::kernels::cuda
