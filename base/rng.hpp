// rng.hpp — named random streams: the same draws on every machine, beside any others.
//
// A stream is (seed, name) and a counter (Philox 4x32-10, Salmon et al., SC'11, from Random123):
// adding a draw to one stream changes nothing in another. The distributions are ours, by inversion
// and with the functions of exact_math.hpp, because std:: distributions and libm differ between
// libraries and CPUs. Names such as "market/us-west-2a" or "policy/greedy" are part of a result.
// Every draw but integer() takes exactly one 64-bit word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/invariant.hpp"

namespace ukemi {

class RandomStream {
public:
    RandomStream(std::uint64_t seed, std::string_view name);

    // 64 uniform bits.
    std::uint64_t bits() {
        if (used_ == words_.size()) draw_words();
        return words_[used_++];
    }
    // In [0, 1), a multiple of 2^-53.
    double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
    std::int64_t integer(std::int64_t min, std::int64_t max);  // both included, unbiased
    bool chance(double probability) {
        INVARIANT(probability >= 0 && probability <= 1);
        return uniform() < probability;
    }
    double exponential(double mean);  // mean ≥ 0
    double normal(double mean, double standard_deviation);
    double lognormal(double log_mean, double log_standard_deviation);
    // Failures before the first success, 0 < probability ≤ 1; never above 2^62.
    std::int64_t geometric(double probability);

private:
    double open_uniform();  // in (0, 1), an odd multiple of 2^-53
    void draw_words();

    // Of four blocks, which are drawn together: that takes hardly longer than one.
    static constexpr std::size_t words_drawn = 8;
    std::array<std::uint32_t, 2> key_;
    std::uint64_t next_block_ = 0;  // its counter
    std::array<std::uint64_t, words_drawn> words_{};
    std::size_t used_ = words_drawn;  // of words_
};

// The distribution function of the standard normal, inverted; 0 < probability < 1.
double normal_quantile(double probability);

}  // namespace ukemi
