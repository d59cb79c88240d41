// element_draws.hpp — a random number for every element of a tensor, in any order and on any
// number of threads, CPU or GPU.
//
// Philox 4x32-10 (Salmon et al., SC'11, from Random123): the key comes from a named stream of
// base/rng, the counter is (element ÷ 4, step), and an element takes one of the block's four words.
// Also compiled for devices (but for key_of).
#pragma once

#include <Random123/philox.h>

#include <cstdint>

#include "base/rng.hpp"

namespace ukemi::kernels {

struct DrawKey {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
};

inline DrawKey key_of(std::uint64_t seed, std::string_view stream) {
    const std::uint64_t bits = RandomStream(seed, stream).bits();
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
}

struct FourDraws {
    std::uint32_t words[4];
};

// Those of elements 4 × block … 4 × block + 3.
R123_CUDA_DEVICE inline FourDraws draws_of(DrawKey key, std::uint64_t block, std::uint64_t step) {
    const r123::Philox4x32::ctr_type counter = {
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U),
         static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32U)}};
    const r123::Philox4x32::key_type philox_key = {{key.low, key.high}};
    const auto drawn = r123::Philox4x32{}(counter, philox_key);
    return {{drawn[0], drawn[1], drawn[2], drawn[3]}};
}

// In [0, 1), a multiple of 2^-24: exact in single precision.
constexpr float uniform_of(std::uint32_t word) { return static_cast<float>(word >> 8U) * 0x1p-24F; }

// One of [begin, begin + size), size ≤ 2^31; an element's chance is off by at most 2^-32.
constexpr std::int64_t pick_of(std::uint32_t word, std::int64_t begin, std::int64_t size) {
    return begin +
           static_cast<std::int64_t>(std::uint64_t{word} * static_cast<std::uint64_t>(size) >> 32U);
}

// Calls `with(element, word)` for the elements from 0 to count − 1.
template <class With>
void for_each_draw(DrawKey key, std::uint64_t step, std::size_t count, const With& with) {
    for (std::size_t begin = 0; begin < count; begin += 4) {
        const FourDraws drawn = draws_of(key, begin / 4, step);
        const std::size_t end = count - begin < 4 ? count - begin : 4;
        for (std::size_t k = 0; k < end; ++k) with(begin + k, drawn.words[k]);
    }
}

}  // namespace ukemi::kernels
