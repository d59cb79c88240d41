#include "cli/program_on_path.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/input_error.hpp"

namespace ukemi::cli {

namespace fs = std::filesystem;

fs::path program_on_path(const std::string& name, const char* option) {
    const char* const path = std::getenv("PATH");
    std::string_view left = path == nullptr ? "" : path;
    if (name.find('/') != std::string::npos) left = {};
    fs::path found = name.find('/') != std::string::npos ? name : "";
    while (found.empty() && !left.empty()) {
        const std::string_view folder = left.substr(0, left.find(':'));
        left.remove_prefix(std::min(folder.size() + 1, left.size()));
        if (!folder.empty() && ::access((fs::path(folder) / name).c_str(), X_OK) == 0) {
            found = fs::path(folder) / name;
        }
    }
    const bool is_file = !found.empty() && fs::is_regular_file(found);
    if (is_file && ::access(found.c_str(), X_OK) == 0) return found;
    throw InputError(option, "", fmt::format("expected a program, found none named {}", name));
}

}  // namespace ukemi::cli
