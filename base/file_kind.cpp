// file_kind.cpp — asks the file system; a link is what it leads to.
#include "base/file_kind.hpp"

#include <fmt/format.h>

#include <system_error>

#include "base/input_error.hpp"

namespace ukemi {

std::string_view words_of(std::filesystem::file_type type) {
    using std::filesystem::file_type;
    switch (type) {
        case file_type::regular: return "a file";
        case file_type::directory: return "a directory";
        case file_type::fifo: return "a pipe";
        case file_type::block:
        case file_type::character: return "a device";
        case file_type::socket: return "a socket";
        default: return "something else";
    }
}

bool is_file_named(const std::filesystem::path& name) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(name, ignored);
}

void check_output_file(const std::filesystem::path& file, bool force) {
    std::error_code
        ignored;  // what cannot be asked about cannot be written either, and that says why
    const auto type = std::filesystem::status(file, ignored).type();
    using std::filesystem::file_type;
    if (type == file_type::none || type == file_type::not_found) return;
    if (type != file_type::regular) {
        throw InputError(
            file.string(), "",
            fmt::format("expected the name of a file to write, found {}", words_of(type)));
    }
    if (!force) throw InputError(file.string(), "", "is there already; --force replaces it");
}

}  // namespace ukemi
