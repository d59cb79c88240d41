// sample_order.hpp — which sample stands at which place of the training, on any worker.
//
// The order is a function of (seed, epoch, position) alone: each epoch is a permutation of its own,
// so that each sample is used exactly once an epoch across any number of resizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ukemi::kernels {

class SampleOrder {
public:
    SampleOrder(std::uint64_t seed, std::int64_t samples_per_epoch);
    // The samples at positions [begin, begin + out.size()) counted from the start of the job:
    // position p is place p mod n of epoch p ÷ n.
    void fill(std::int64_t begin, std::span<std::uint32_t> out);

private:
    void load(std::int64_t epoch);
    std::uint64_t seed_;
    std::int64_t samples_per_epoch_;
    std::int64_t epoch_ = -1;
    std::vector<std::uint32_t> permutation_;
};

// The share of `rank` in n samples split over `size` ranks: nearly equal, contiguous, the first
// n mod size ranks get one more (Or et al., RUNTIME §3.2).
struct Share {
    std::int64_t begin = 0;
    std::int64_t count = 0;
};
Share share_of(std::int64_t samples, int rank, int size);

}  // namespace ukemi::kernels
