// type_rules.cpp — one name, one type, and in its folder's namespace: what no linker sees.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

struct Defined {
    std::string name;
    std::size_t line = 1;
    bool is_local = false;  // in an unnamed namespace: no other file sees it
};

// The namespace that a brace opens: its name, " " if it has none; empty if it opens something else.
std::string namespace_of(const std::string& head) {
    static const std::regex opened(R"(namespace(\s+[\w:]+)?\s*$)");
    std::smatch match;
    if (!std::regex_search(head, match, opened)) return {};
    const std::string name = match.str(1);
    return name.empty() ? " " : name.substr(name.find_first_not_of(" \n"));
}

// Types at namespace scope.
std::vector<Defined> types_of(const SourceFile& file) {
    static const std::regex type(
        R"((?:^|[\s>])(?:class|struct|enum class|union)\s+(\w+)(?:\s+final)?\s*(?::[^:][^{]*)?$)");
    const std::string code = code_only(file.text);
    std::vector<Defined> found;
    std::vector<std::string> open;
    std::size_t head_begin = 0;
    std::size_t line = 1;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i] == '\n') ++line;
        if (code[i] != '{' && code[i] != '}' && code[i] != ';') continue;
        const std::string head = code.substr(head_begin, i - head_begin);
        head_begin = i + 1;
        if (code[i] == '}' && !open.empty()) open.pop_back();
        if (code[i] != '{') continue;
        const bool inside = std::ranges::count(open, "") > 0;  // of a function or a class
        std::smatch match;
        if (!inside && std::regex_search(head, match, type)) {
            found.push_back({match.str(1), line, std::ranges::count(open, " ") > 0});
        }
        open.push_back(namespace_of(head));
    }
    return found;
}

bool is_program_of_its_own(std::string_view path) {
    const std::string_view folder = top_folder(path);
    return folder == "tests" || folder == "bench" || folder == "examples";
}

}  // namespace

// A name means one type in the whole product, whatever its namespace; names of one file alone may
// be as those of another file alone.
Findings check_types(std::span<const SourceFile> files) {
    Findings findings;
    std::map<std::string, std::string> known;  // where
    for (const bool local : {false, true}) {
        for (const SourceFile& file : files) {
            if (!is_code(file.path) || is_program_of_its_own(file.path)) continue;
            for (const Defined& one : types_of(file)) {
                if (one.is_local != local) continue;
                const auto first = known.find(one.name);
                if (first == known.end()) {
                    if (!local) known.emplace(one.name, file.path);
                    continue;
                }
                findings.push_back(
                    {file.path, one.line,
                     fmt::format("{} is also in {}: one name, one type", one.name, first->second)});
            }
        }
    }
    return findings;
}

// base/ is ukemi itself: its names are everybody's.
Findings check_namespaces(std::span<const SourceFile> files) {
    static const std::regex opened(R"(namespace\s+(ukemi[\w:]*)\s*\{[^{}]*\{)");
    Findings findings;
    for (const SourceFile& file : files) {
        if (!is_code(file.path) || is_program_of_its_own(file.path)) continue;
        const std::string_view folder = top_folder(file.path);
        const std::string own = folder == "base" ? "ukemi" : fmt::format("ukemi::{}", folder);
        const std::string code = code_only(file.text);
        for (std::sregex_iterator match(code.begin(), code.end(), opened), end; match != end;
             ++match) {
            const std::string name = match->str(1);
            if (name == own || name.starts_with(own + "::")) continue;
            const auto begin = code.begin() + match->position();
            findings.push_back(
                {file.path, 1 + static_cast<std::size_t>(std::count(code.begin(), begin, '\n')),
                 fmt::format("defines names in {}; this folder's namespace is {}", name, own)});
        }
    }
    return findings;
}

}  // namespace ukemi::tidy
