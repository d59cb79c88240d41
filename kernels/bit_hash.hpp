// bit_hash.hpp — 64 bits that tell whether two machines hold the same bytes.
//
// Not against people, only against mistakes: every step is a bijection of the hash for a given
// word, so inputs of one size that differ within one 8-byte word never collide, and others do with
// a chance of about 2^-64. (The rounds are those of xxHash's XXH64 tail, with its constants.)
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ukemi::kernels {

class BitHash {
public:
    void add(std::uint64_t word) {
        hash_ = std::rotl(hash_ ^ (word * prime_2), 27) * prime_1 + prime_3;
    }
    void add(std::span<const std::byte> bytes) {
        add(static_cast<std::uint64_t>(bytes.size()));
        std::uint64_t word = 0;
        for (; bytes.size() >= sizeof word; bytes = bytes.subspan(sizeof word)) {
            std::memcpy(&word, bytes.data(), sizeof word);
            add(word);
        }
        word = 0;
        if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
        add(word);
    }
    std::uint64_t value() const {
        std::uint64_t mixed = hash_;
        mixed = (mixed ^ (mixed >> 33)) * prime_2;
        mixed = (mixed ^ (mixed >> 29)) * prime_3;
        return mixed ^ (mixed >> 32);
    }

private:
    static constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87U;
    static constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4FU;
    static constexpr std::uint64_t prime_3 = 0x165667B19E3779F9U;
    std::uint64_t hash_ = prime_3;
};

}  // namespace ukemi::kernels
