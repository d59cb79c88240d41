// live_worker_cuda.cpp — a worker process whose gradients and learners are computed on a GPU.
#include "kernels/cuda/cuda_backend.hpp"
#include "runtime/crew.hpp"

int main() { return ukemi::runtime::run_worker(ukemi::kernels::cuda::cuda_backend()); }
