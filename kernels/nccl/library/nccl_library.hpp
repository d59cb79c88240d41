// nccl_library.hpp — NCCL's own calls on this process's device. For processes with a GPU.
//
// libnccl.so.2 is looked for when a program runs, where the loader looks (LD_LIBRARY_PATH).
#pragma once

#include <memory>
#include <string>

#include "kernels/nccl/nccl_calls.hpp"

namespace ukemi::kernels {

// Why NCCL cannot be used (it is not there, or older than 2.28); empty if it can.
std::string nccl_missing();

// On this device. Throws std::runtime_error where no device answers or NCCL is missing.
std::unique_ptr<NcclCalls> make_nccl(int device);

}  // namespace ukemi::kernels
