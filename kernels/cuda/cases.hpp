// cases.hpp — every kernel with inputs made from one gradient, its CPU reference, and what is
// compared: tests run all of them at many sizes, the benchmark times what matches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::kernels::cuda {

class Case {
public:
    virtual ~Case() = default;
    // The least that one run moves between the chip and its memory.
    virtual std::int64_t bytes() const = 0;
    virtual void run(cudaStream_t stream) = 0;  // launches only; may be repeated
    // Runs once from fresh inputs and compares with the CPU: what differs, empty if nothing does.
    virtual std::string mismatch(cudaStream_t stream) = 0;
};

struct CaseEntry {
    std::string_view name;
    std::string_view compared;  // "bits", or how near
    std::unique_ptr<Case> (*make)(std::span<const float> gradient);
};
std::span<const CaseEntry> all_cases();

// "" if equal bit for bit (but for which quiet NaN), else the first place that is not.
std::string difference_of_bits(std::string_view what, std::span<const float> found,
                               std::span<const float> expected);
// "" if |found − expected| ≤ share × the norm of `expected` ÷ √count + share × |expected|.
std::string difference_beyond(std::string_view what, std::span<const float> found,
                              std::span<const float> expected, double share);

// Inputs that depend on nothing but their name and size: normal, with zeros, equal magnitudes and
// numbers of all sizes among them.
std::vector<float> made_gradient(std::string_view name, std::size_t count);

}  // namespace ukemi::kernels::cuda
