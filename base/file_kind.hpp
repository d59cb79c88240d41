// file_kind.hpp — what stands at a path, in words, and whether a command may write there.
#pragma once

#include <filesystem>
#include <string_view>

namespace ukemi {

// "a directory", "a pipe", "a device", …
std::string_view words_of(std::filesystem::file_type type);

// Whether a regular file has this name, which users give: one that no file can have (longer than
// 255 bytes, say) is none.
bool is_file_named(const std::filesystem::path& name);

// InputError if something is at `file` and `force` is false, or if it is no regular file: pipes,
// devices and folders are never replaced. To be asked before anything long is computed;
// write_file_atomically asks again.
void check_output_file(const std::filesystem::path& file, bool force);

}  // namespace ukemi
