// source_files.cpp — which files are the project's.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

namespace fs = std::filesystem;

// Tracked files, and new ones that are not ignored; nothing if git or the repository is missing.
std::vector<std::string> paths_from_git(const std::string& top) {
    std::vector<std::string> paths;
    std::string quoted_top = "'";
    for (const char c : top) quoted_top += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const std::string command =
        "git -C " + quoted_top + "' ls-files -co --exclude-standard -z 2>/dev/null";
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return paths;
    std::string text;
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
        text.append(buffer.data(), got);
    }
    if (::pclose(pipe) != 0) return paths;
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, '\0');) paths.push_back(name);
    return paths;
}

std::vector<std::string> paths_from_walk(const std::string& top) {
    std::vector<std::string> paths;
    for (auto at = fs::recursive_directory_iterator(top); at != fs::recursive_directory_iterator();
         ++at) {
        const std::string path = fs::relative(at->path(), top).generic_string();
        const bool output =
            path == ".git" || path == "build" || path.starts_with("build-") || path == "results";
        if (at->is_directory() && output) at.disable_recursion_pending();
        if (at->is_regular_file()) paths.push_back(path);
    }
    return paths;
}

}  // namespace

std::vector<SourceFile> project_files(const std::string& top) {
    std::vector<std::string> paths = paths_from_git(top);
    if (paths.empty()) paths = paths_from_walk(top);
    std::sort(paths.begin(), paths.end());
    std::vector<SourceFile> files;
    for (const std::string& path : paths) {
        const fs::path file = fs::path(top) / path;
        if (!fs::is_regular_file(file)) continue;  // deleted, but still tracked
        std::ifstream stream(file, std::ios::binary);
        if (!stream) throw std::runtime_error("cannot read " + file.string());
        std::ostringstream text;
        text << stream.rdbuf();
        files.push_back({path, text.str()});
    }
    return files;
}

}  // namespace ukemi::tidy
