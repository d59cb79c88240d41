// sample_order.cpp — one permutation at a time, drawn when its epoch is first asked for.
#include "kernels/sample_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/invariant.hpp"
#include "base/rng.hpp"

namespace ukemi::kernels {

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t samples_per_epoch)
    : seed_(seed), samples_per_epoch_(samples_per_epoch) {
    INVARIANT(samples_per_epoch >= 1 &&
              samples_per_epoch <= std::numeric_limits<std::uint32_t>::max());
}

void SampleOrder::fill(std::int64_t begin, std::span<std::uint32_t> out) {
    INVARIANT(begin >= 0);
    while (!out.empty()) {
        load(begin / samples_per_epoch_);
        const auto place = static_cast<std::size_t>(begin % samples_per_epoch_);
        const std::size_t count = std::min(out.size(), permutation_.size() - place);
        std::copy_n(permutation_.begin() + static_cast<std::ptrdiff_t>(place), count, out.begin());
        out = out.subspan(count);
        begin += static_cast<std::int64_t>(count);
    }
}

// Fisher and Yates, in Durstenfeld's form; not std::shuffle, whose draws differ between libraries.
void SampleOrder::load(std::int64_t epoch) {
    if (epoch == epoch_) return;
    permutation_.resize(static_cast<std::size_t>(samples_per_epoch_));
    std::iota(permutation_.begin(), permutation_.end(), 0U);
    RandomStream random(seed_, fmt::format("data/epoch/{}", epoch));
    for (std::int64_t last = samples_per_epoch_ - 1; last > 0; --last) {
        const std::int64_t chosen = random.integer(0, last);
        std::swap(permutation_[static_cast<std::size_t>(last)],
                  permutation_[static_cast<std::size_t>(chosen)]);
    }
    epoch_ = epoch;
}

Share share_of(std::int64_t samples, int rank, int size) {
    INVARIANT(samples >= 0 && size >= 1 && rank >= 0 && rank < size);
    const std::int64_t each = samples / size;
    const std::int64_t more = samples % size;
    return {each * rank + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

}  // namespace ukemi::kernels
