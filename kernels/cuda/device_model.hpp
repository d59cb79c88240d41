// device_model.hpp — a Model whose gradients are computed on a GPU, for whoever trains with a Model
// and keeps weights and gradients on the host.
//
// A gradient uploads weights and samples, is computed by a DeviceNetwork on the workspace's stream,
// comes back whole, and is then added to the caller's: all tensors are finished at once, so no
// exchange hides behind the backward pass. Sums run in another order than the host's; one device
// gives equal bits in every run. Evaluation is the host's.
#pragma once

#include <memory>

#include "kernels/cuda/matrix_product.hpp"
#include "kernels/model.hpp"

namespace ukemi::cuda {

struct DeviceModelSettings {
    int device = 0;
    MatrixProducts::Use products = MatrixProducts::Use::cublas_if_there;
};

// Make_model's errors; throws CudaError where that GPU does not answer. A workspace belongs to the
// thread that made it, and makes more room when a larger batch comes.
std::unique_ptr<Model> make_device_model(const ModelSpec& spec, const DataSet& data,
                                         const DeviceModelSettings& settings);

}  // namespace ukemi::cuda
