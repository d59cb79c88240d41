// text_digest.hpp — 64 bits that change with a text: FNV-1a. Against mistakes, not against people.
#pragma once

#include <cstdint>
#include <string_view>

namespace ukemi {

inline constexpr std::uint64_t text_digest_begin = 0xcbf29ce484222325U;

// Of a text that comes in pieces: each time with the digest of what came before.
constexpr std::uint64_t text_digest(std::string_view text, std::uint64_t hash = text_digest_begin) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

}  // namespace ukemi
