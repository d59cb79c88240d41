// picture_file.cpp — the end of a text, and the chain of a PNG's chunks.
#include "plots/picture_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/read_file.hpp"

namespace ukemi::plots {
namespace {

bool ends_with_word(std::string_view text, std::string_view word) {
    const std::size_t end = text.find_last_not_of(" \r\n");
    return end != std::string_view::npos && text.substr(0, end + 1).ends_with(word);
}

// Chunks of length, type, data and checksum up to IEND (PNG specification, section 5.3).
bool is_whole_png(std::string_view bytes) {
    constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
    constexpr std::size_t frame = 12;  // of a chunk without its data
    if (!bytes.starts_with(signature)) return false;
    bytes.remove_prefix(signature.size());
    while (bytes.size() >= frame) {
        std::size_t length = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            length = length << 8U | static_cast<std::uint8_t>(bytes[i]);
        }
        if (length > bytes.size() - frame) return false;
        const bool last = bytes.substr(4, 4) == "IEND";
        bytes.remove_prefix(frame + length);
        if (last) return bytes.empty();
    }
    return false;
}

}  // namespace

std::string picture_problem(const std::filesystem::path& picture) {
    std::error_code unused;
    if (!std::filesystem::exists(picture, unused)) return "is missing";
    const std::string bytes = read_file(picture);
    const std::string ending = picture.extension().string();
    const bool whole = ending == ".png"   ? is_whole_png(bytes)
                       : ending == ".svg" ? ends_with_word(bytes, "</svg>")
                                          : ends_with_word(bytes, "%%EOF");
    return whole ? "" : "is cut short (is the disk full?)";
}

}  // namespace ukemi::plots
