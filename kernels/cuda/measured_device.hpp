// measured_device.hpp — a GPU as a MeasuredDevice: its own copies, copies between it and the host's
// pinned and pageable memory, and the kernels of codecs, monitors and updates, which are compared
// with their CPU references first (cases.hpp: their parameters). Timed by events of the device.
#pragma once

#include <memory>

#include "kernels/measured_device.hpp"

namespace ukemi::kernels::cuda {

// Throws CudaError where that GPU does not answer.
std::unique_ptr<MeasuredDevice> measured_device(int device);

}  // namespace ukemi::kernels::cuda
