// plain_text.hpp — text from outside, made safe to print on one line.
//
// What a user wrote may hold line breaks, terminal escapes, bytes that are not UTF-8, or a megabyte
// without a space. Error messages go through these functions, so that each stays one short line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ukemi {

// How many leading bytes are well-formed UTF-8; the whole size if all are.
std::size_t utf8_prefix(std::string_view text);

// Control characters and bytes that are not UTF-8 as escapes (\n, \x1b, \xff); the rest unchanged.
std::string one_line(std::string_view text);

// At most `bytes_max` bytes, never cut inside a character, "..." in place of what was left out.
std::string shortened(std::string_view text, std::size_t bytes_max);

// The text in quotation marks, on one line, shortened to what a message can bear. (With a
// std::string, call it ukemi::quoted: the plain name would find std::quoted too.)
std::string quoted(std::string_view text);

}  // namespace ukemi
