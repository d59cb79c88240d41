// text_scan.cpp — numbers digit by digit, and UTF-8 eight bytes at a time where it is ASCII.
#include "base/text_scan.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/plain_text.hpp"
#include "base/quantity.hpp"

namespace ukemi {

namespace {

std::size_t digits_at(std::string_view text, std::size_t from) {
    std::size_t at = from;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
}

// The length of the UTF-8 sequence at `text[at]`, 0 if it is malformed.
std::size_t sequence_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0  // a continuation byte, or an overlong form
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || text.size() - at < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xC0U) != 0x80) return 0;
    }
    if (length < 3) return length;
    const unsigned second = byte(at + 1);
    if (lead == 0xE0 && second < 0xA0) return 0;  // overlong
    if (lead == 0xED && second > 0x9F) return 0;  // surrogates
    if (lead == 0xF0 && second < 0x90) return 0;  // overlong
    if (lead == 0xF4 && second > 0x8F) return 0;  // above U+10FFFF
    return length;
}

// A number in pieces: all its digits in a row, and where the point stands.
struct Pieces {
    bool negative = false;
    std::string_view whole;
    std::string_view fraction;
    std::int64_t exponent = 0;  // clipped to ±1000: far beyond what fits either way
};

Pieces pieces_of(std::string_view text) {
    Pieces pieces;
    std::size_t at = 0;
    if (text[at] == '-' || text[at] == '+') pieces.negative = text[at++] == '-';
    const std::size_t whole = digits_at(text, at);
    pieces.whole = text.substr(at, whole);
    at += whole;
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = digits_at(text, ++at);
        pieces.fraction = text.substr(at, fraction);
        at += fraction;
    }
    if (at < text.size()) {  // the grammar leaves nothing but an exponent
        ++at;
        const bool below = text[at] == '-';
        if (text[at] == '-' || text[at] == '+') ++at;
        for (; at < text.size(); ++at) {
            pieces.exponent = std::min<std::int64_t>(1000, pieces.exponent * 10 + (text[at] - '0'));
        }
        if (below) pieces.exponent = -pieces.exponent;
    }
    return pieces;
}

}  // namespace

TextPlace place_of(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column =
        line_start == std::string_view::npos ? before.size() : before.size() - line_start - 1;
    return {lines + 1, column + 1};
}

std::size_t first_invalid_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        while (text.size() - at >= sizeof(std::uint64_t)) {  // plain ASCII, eight bytes at a time
            std::uint64_t eight = 0;
            std::memcpy(&eight, text.data() + at, sizeof eight);
            if ((eight & 0x8080808080808080U) != 0) break;
            at += sizeof eight;
        }
        if (at == text.size()) break;
        const std::size_t length = sequence_length(text, at);
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

std::size_t decimal_length(std::string_view text, DecimalGrammar grammar) {
    const bool strict = grammar == DecimalGrammar::json;
    std::size_t at = 0;
    if (at < text.size() && (text[at] == '-' || (!strict && text[at] == '+'))) ++at;
    const std::size_t whole = digits_at(text, at);
    if (strict && (whole == 0 || (whole > 1 && text[at] == '0'))) return 0;
    at += whole;
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = digits_at(text, at + 1);
        if (fraction == 0 && (strict || whole == 0)) return 0;
        at += 1 + fraction;
    } else if (whole == 0) {
        return 0;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        std::size_t digits = at + 1;
        if (digits < text.size() && (text[digits] == '-' || text[digits] == '+')) ++digits;
        const std::size_t exponent = digits_at(text, digits);
        if (exponent == 0) return 0;
        at = digits + exponent;
    }
    return at;
}

std::optional<std::int64_t> parse_decimal(std::string_view text, int places,
                                          DecimalGrammar grammar) {
    if (text.empty() || decimal_length(text, grammar) != text.size()) return std::nullopt;
    const Pieces pieces = pieces_of(text);
    // The digits before this index, counted over whole and fraction together, make the result; the
    // one at it rounds.
    const std::int64_t cut =
        static_cast<std::int64_t>(pieces.whole.size()) + pieces.exponent + places;
    const auto digits = static_cast<std::int64_t>(pieces.whole.size() + pieces.fraction.size());
    const auto digit = [&](std::int64_t index) -> int {
        if (index < 0 || index >= digits) return 0;
        const auto i = static_cast<std::size_t>(index);
        return (i < pieces.whole.size() ? pieces.whole[i]
                                        : pieces.fraction[i - pieces.whole.size()]) -
               '0';
    };
    constexpr Int128 largest = std::numeric_limits<std::int64_t>::max();
    Int128 result = 0;
    for (std::int64_t index = 0; index < cut; ++index) {
        if (index >= digits && result == 0) break;  // zero, however many places
        result = result * 10 + digit(index);
        if (result > largest) return std::nullopt;
    }
    if (digit(cut) >= 5) ++result;
    if (result > largest) return std::nullopt;
    const auto value = static_cast<std::int64_t>(result);
    return pieces.negative ? -value : value;
}

std::optional<std::int64_t> parse_whole(std::string_view text, DecimalGrammar grammar) {
    if (text.size() == 1 && is_digit(text[0])) return text[0] - '0';
    if (text.empty() || decimal_length(text, grammar) != text.size()) return std::nullopt;
    const Pieces pieces = pieces_of(text);
    // Every digit behind the point must be zero.
    const auto whole = static_cast<std::int64_t>(pieces.whole.size());
    const auto digits = static_cast<std::int64_t>(pieces.whole.size() + pieces.fraction.size());
    for (std::int64_t i = std::max<std::int64_t>(0, whole + pieces.exponent); i < digits; ++i) {
        const auto index = static_cast<std::size_t>(i);
        const char digit =
            i < whole ? pieces.whole[index] : pieces.fraction[index - pieces.whole.size()];
        if (digit != '0') return std::nullopt;
    }
    return parse_decimal(text, 0, grammar);
}

}  // namespace ukemi
