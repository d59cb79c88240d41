// text_pieces.hpp — a text that comes in pieces, since all of it at once would be much.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace ukemi {

using TextTaker = std::function<void(std::string_view piece)>;
// Gives its pieces to a taker, the first first; as often as it is asked.
using TextPieces = std::function<void(const TextTaker& take)>;

// As of a text (read_file.hpp): all of it or nothing.
void write_file_atomically(const std::filesystem::path& file, const TextPieces& pieces);

}  // namespace ukemi
