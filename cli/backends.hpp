// backends.hpp — what live workers can compute on, by name: the only place that knows whether this
// program was built with CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/compute_backend.hpp"

namespace ukemi::cli {

std::vector<std::string> backend_names();
// One of these names. A program without CUDA has a "cuda" that refuses.
const kernels::ComputeBackend& backend_named(std::string_view name);
// Throws std::runtime_error with one line if it cannot compute here: the machine's fault, not the
// input's.
void expect_backend(const kernels::ComputeBackend& backend);
// this_device(), and what the backend's times depend on beside it. Only of one that can compute.
std::string device_with(const kernels::ComputeBackend& backend);

}  // namespace ukemi::cli
