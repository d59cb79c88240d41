// cuda_device.hpp — learners on one GPU: a stream, a replica and a workspace each, or all of them
// batched together on one stream.
//
// It means make_cpu_device (kernels/learners/learner_device.hpp): the same steps by the same rules,
// with the sums of its products in another order. A batch is copied from pinned memory on its
// learner's stream; gradients of small batches are captured once as a graph and replayed, because
// their launches would take longer than their work. The central model is stepped on a stream of its
// own, which waits for the steps that read it, and for which later steps wait.
#pragma once

#include <memory>

#include "kernels/cuda/matrix_product.hpp"
#include "kernels/learners/learner_device.hpp"
#include "kernels/models/image_network.hpp"

namespace ukemi::kernels::cuda {

struct CudaDeviceSettings {
    int device = 0;
    int samples_most = 128;       // of one batch; streams make more room when it is wanted
    int graph_samples_most = 64;  // batches up to this size are graphs; 0: none
    MatrixProducts::Use products = MatrixProducts::Use::cublas_if_there;
    bool exchange_on_host = false;  // exchanges get host memory, for carriers that know no GPU
};

// `network` outlives it. Throws CudaError where no GPU answers.
std::unique_ptr<LearnerDevice> make_cuda_device(const ImageNetwork& network,
                                                std::span<const float> weights,
                                                const CudaDeviceSettings& settings);

}  // namespace ukemi::kernels::cuda
