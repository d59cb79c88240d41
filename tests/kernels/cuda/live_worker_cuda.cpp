// live_worker_cuda.cpp — a worker process whose gradients and learners are computed on a GPU.
// `live_worker_cuda trusting` takes the network for trusted.
#include <string_view>

#include "kernels/cuda/cuda_backend.hpp"
#include "runtime/crew.hpp"

int main(int argc, char** argv) {
    using namespace ukemi;
    const bool trusting = argc > 1 && std::string_view(argv[1]) == "trusting";
    return runtime::run_worker(
        kernels::cuda::cuda_backend(), runtime::InvitedBy::environment,
        trusting ? kernels::Encryption::never : kernels::Encryption::across_hosts);
}
