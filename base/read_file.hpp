// read_file.hpp — a whole file as text, with its size limited and gzip undone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ukemi {

inline constexpr std::size_t file_bytes_max = std::size_t{256} << 20;

// Reads the file (of a pipe, what is written until its end), inflating gzip. Throws InputError if
// it cannot be opened, is a directory, a disk or a pipe to which nobody writes, is larger than
// `bytes_max` (also after inflating: no zip bombs), is cut short in mid-stream, or is to be
// replaced (input_files.hpp).
std::string read_file(const std::filesystem::path& file, std::size_t bytes_max = file_bytes_max);

// The same of text: a mark of UTF-8 before it (EF BB BF), as editors write it, is not of it.
std::string read_text_file(const std::filesystem::path& file,
                           std::size_t bytes_max = file_bytes_max);

// Writes the parts, one after the other, beside `file` and renames it: all of it or nothing. Throws
// std::system_error when the machine fails, and InputError where something other than a regular
// file has that name.
void write_file_atomically(const std::filesystem::path& file,
                           std::initializer_list<std::string_view> parts);
inline void write_file_atomically(const std::filesystem::path& file, std::string_view text) {
    write_file_atomically(file, {text});
}

}  // namespace ukemi
