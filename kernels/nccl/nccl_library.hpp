// nccl_library.hpp — NCCL's own calls on this process's device. For processes with a GPU.
#pragma once

#include <memory>

#include "kernels/nccl/nccl_calls.hpp"

namespace ukemi {

// On this device. Throws std::runtime_error where no device answers. Compiled against NCCL 2.28:
// older libraries at run time lack ncclCommShrink and are refused.
std::unique_ptr<NcclCalls> make_nccl(int device);

}  // namespace ukemi
