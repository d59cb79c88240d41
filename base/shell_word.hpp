// shell_word.hpp — words and command lines as a shell takes them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ukemi {

// One word: as it is where nothing in it means anything to a shell, else between quotes.
std::string shell_word(std::string_view text);

std::string shell_line(std::span<const std::string> words);

}  // namespace ukemi
