// profiler_trace.hpp — what a trace of PyTorch's profiler says of training on one worker.
//
// The Chrome trace JSON that `torch.profiler.profile(record_shapes=True)` exports (Kineto's: an
// object with "traceEvents"; times in microseconds). Of its events count: "ProfilerStep#N" (a step;
// none: the whole trace is one; refused if the same gradients come in several backward passes, as
// where they are accumulated),
// "autograd::engine::evaluate_function: …" (the first begins the backward pass),
// "torch::autograd::AccumulateGrad" with its "Input Dims" (a gradient is ready), and where a device
// computes, its kernels and copies with the calls that launched them ("correlation"): something is
// done on the device when all is that was launched before it. What has one correlation, as the
// kernels of a CUDA graph have, was launched by one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ukemi::scenarios {

inline constexpr std::size_t profiler_bytes_max = std::size_t{256} << 20;  // a file

// Medians over the steps of a trace, each of one backward pass.
struct ProfiledStep {
    std::int64_t steps = 0;
    double seconds = 0;         // a step
    double backward_share = 0;  // of it: from the backward pass's begin to the last gradient
    struct Gradient {
        std::int64_t elements = 0;
        double ready = 0;  // share of the backward pass after which it is ready
    };
    std::vector<Gradient> gradients;  // as they become ready
};

// Throws InputError that names the file and what is missing.
ProfiledStep parse_profiler_trace(std::string_view text, std::string_view file);

}  // namespace ukemi::scenarios
