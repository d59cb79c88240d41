// text_scan.hpp — what every strict reader of text needs: places, characters and exact decimals.
//
// All of it works on views into the whole text, allocates nothing, and never goes through a
// double: a decimal becomes an integer of a fixed number of places, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/plain_text.hpp"  // quoted(): every complaint shows what it found

namespace ukemi {

struct TextPlace {
    std::size_t line = 1;    // both count from 1
    std::size_t column = 1;  // in bytes
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Looked for only when a complaint is made, so that scanning need not count lines.
TextPlace place_of(std::string_view text, std::size_t offset);

// The offset of the first byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF); npos if there is none.
std::size_t first_invalid_utf8(std::string_view text);

// What a number looks like: JSON's grammar forbids "+1", ".5", "5." and "007"; a CSV's need not.
enum class DecimalGrammar { json, relaxed };

// The decimal in `text` times 10^places, exact; what lies beyond the last place is rounded to the
// nearest, halves away from zero. Nothing if `text` is not one whole number of the grammar (so also
// for NaN, Inf and hexadecimal), or if the result does not fit.
std::optional<std::int64_t> parse_decimal(std::string_view text, int places,
                                          DecimalGrammar grammar);

// The same for a whole number, however written: 1, 1.0 and 1e0; nothing for 1.5.
std::optional<std::int64_t> parse_whole(std::string_view text, DecimalGrammar grammar);

// How many bytes at the start of `text` form a number of the grammar; 0 if none do.
std::size_t decimal_length(std::string_view text, DecimalGrammar grammar);

}  // namespace ukemi
