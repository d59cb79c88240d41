// plain_text.cpp — well-formed UTF-8 after Unicode 15, table 3-7: no overlong form, no surrogate,
// nothing above U+10FFFF.
#include "base/plain_text.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace ukemi {
namespace {

// The length of the well-formed character at the start of a non-empty text; 0 if there is none.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return 1;
    std::size_t length = 0;
    if (first >= 0xC2 && first <= 0xDF) length = 2;
    if (first >= 0xE0 && first <= 0xEF) length = 3;
    if (first >= 0xF0 && first <= 0xF4) length = 4;
    if (length == 0 || text.size() < length) return 0;
    const std::uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    }
    return length;
}

std::string escaped(char c) {
    switch (c) {
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        default: return fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
    }
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
    std::size_t position = 0;
    while (position < text.size()) {
        const std::size_t length = character_length(text.substr(position));
        if (length == 0) break;
        position += length;
    }
    return position;
}

std::string one_line(std::string_view text) {
    std::string line;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const auto first = static_cast<std::uint8_t>(text[0]);
        // U+0080 to U+009F are control characters too: a terminal may obey them.
        const bool wide_control =
            length == 2 && first == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0;
        const bool control = first < 0x20 || first == 0x7F || wide_control;
        if (length > 0 && !control) {
            line += text.substr(0, length);
            text.remove_prefix(length);
        } else {
            line += escaped(text[0]);
            text.remove_prefix(1);  // of a wide control, the rest is not UTF-8, so escaped as well
        }
    }
    return line;
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
    constexpr std::string_view dots = "...";
    if (text.size() <= bytes_max || bytes_max < dots.size()) return std::string(text);
    std::size_t end = bytes_max - dots.size();
    while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80) --end;
    return std::string(text.substr(0, end)).append(dots);
}

std::string quoted(std::string_view text) {
    return fmt::format("\"{}\"", one_line(shortened(text, 60)));
}

}  // namespace ukemi
