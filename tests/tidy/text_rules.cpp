// text_rules.cpp — rules that look at the text of one file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

constexpr std::size_t columns_max = 100;
constexpr std::size_t file_lines_max = 600;
constexpr std::size_t function_lines_max = 70;

std::size_t columns_of(std::string_view line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

// What an opening brace begins, judged by the statement before it.
enum class Block { scope, function, initialiser, other };

Block block_of(std::string statement, Block around) {
    while (!statement.empty() && statement.back() == ' ') statement.pop_back();
    static const std::regex scope(R"(^((public|private|protected):\s*)?(template\b.*>\s*)?)"
                                  R"((inline\s+)?(namespace|extern|class|struct|union|enum)\b)");
    static const std::regex ends_like_function(
        R"((\)|\b(const|noexcept|override|final|mutable|try)|->[^()]*)$)");
    if (around == Block::function || around == Block::other) return Block::other;
    const bool has_parameters = statement.find('(') != std::string::npos;
    const bool ends_like_one = std::regex_search(statement, ends_like_function);
    // `struct Point origin() {` is a function, `struct alignas(64) Point {` is none.
    if (has_parameters && ends_like_one) return Block::function;
    return std::regex_search(statement, scope) ? Block::scope : Block::initialiser;
}

struct Open {
    Block block = Block::scope;
    std::size_t line = 0;
    std::string statement;  // of an initialiser: goes on after it
};

struct Word {
    const char* pattern;
    const char* problem;
    const char* folders;  // the rule holds in these only; null: everywhere
    const char* excuse;   // a comment that allows it on its line; null: nothing does
};

constexpr std::array words = {
    Word{R"((^|[^A-Za-z0-9_])s?rand\()", "draw from a RandomStream", nullptr, nullptr},
    Word{R"((^|[^A-Za-z0-9_])assert\()", "use INVARIANT: it holds in every build", nullptr,
         nullptr},
    Word{R"(std::random_device)", "a run is repeatable: draw from a RandomStream", nullptr,
         nullptr},
    Word{R"(std::[a-z_]+_distribution)", "its numbers differ between libraries: see base/rng.hpp",
         " base policies traces records sim scenarios ", nullptr},
    Word{R"(\bsystem_clock\b)", "no real time in simulation and policies", " sim policies ",
         nullptr},
    Word{R"(std::unordered_)", "its order differs between machines: sort, or say why not", nullptr,
         "// order-free:"},
};

}  // namespace

std::string to_string(const Finding& finding) {
    return fmt::format("{}:{}: {}", finding.path, finding.line, finding.problem);
}

bool is_header(std::string_view path) { return path.ends_with(".hpp"); }
bool is_code(std::string_view path) {
    return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cu") ||
           path.ends_with(".def");
}

std::string_view top_folder(std::string_view path) {
    const std::size_t slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

Findings check_sizes(const SourceFile& file) {
    Findings findings;
    if (!is_code(file.path)) return findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t columns = columns_of(lines[i]);
        if (columns <= columns_max) continue;
        findings.push_back(
            {file.path, i + 1, fmt::format("{} columns, at most {}", columns, columns_max)});
    }
    if (lines.size() > file_lines_max) {
        findings.push_back({file.path, lines.size(),
                            fmt::format("{} lines, at most {}", lines.size(), file_lines_max)});
    }
    return findings;
}

// Follows the braces, which clang-format has put where they belong. Lambdas and local types count
// as part of their function.
Findings check_functions(const SourceFile& file) {
    Findings findings;
    if (!is_code(file.path)) return findings;
    const std::string code = code_only(file.text);
    std::vector<Open> open;
    std::string statement;
    std::size_t line = 1;
    for (const char c : code) {
        if (c == '\n') ++line;
        if (c == '{') {
            const Block around = open.empty() ? Block::scope : open.back().block;
            const Block block = block_of(statement, around);
            open.push_back({block, line, block == Block::initialiser ? statement : std::string()});
            statement.clear();
        } else if (c == '}') {
            if (open.empty()) return findings;  // not C++ as we know it: the compiler will say so
            const Open closed = std::move(open.back());
            open.pop_back();
            // `: member_{1} {` is one statement.
            statement = closed.block == Block::initialiser ? closed.statement + "()" : "";
            const std::size_t length = line - closed.line;
            if (closed.block == Block::function && length > function_lines_max + 1) {
                findings.push_back({file.path, closed.line,
                                    fmt::format("a function of {} lines, at most {}", length - 1,
                                                function_lines_max)});
            }
        } else if (c == ';') {
            statement.clear();
        } else if (!(statement.empty() && std::isspace(static_cast<unsigned char>(c)) != 0)) {
            statement += c == '\n' ? ' ' : c;
        }
    }
    return findings;
}

Findings check_headers(const SourceFile& file) {
    Findings findings;
    if (!is_header(file.path)) return findings;
    const auto lines = lines_of(file.text);
    if (std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
        findings.push_back({file.path, 1, "no #pragma once"});
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].find("#include <nlohmann/json.hpp>") == std::string_view::npos) continue;
        findings.push_back({file.path, i + 1, "costs 3 s each time: use nlohmann/json_fwd.hpp"});
    }
    return findings;
}

Findings check_words(const SourceFile& file) {
    Findings findings;
    if (!is_code(file.path)) return findings;
    static const auto patterns = [] {
        std::vector<std::regex> compiled;
        for (const Word& word : words) compiled.emplace_back(word.pattern);
        return compiled;
    }();
    const std::string code = code_only(file.text);
    const auto code_lines = lines_of(code);
    const auto lines = lines_of(file.text);
    const std::string folder = fmt::format(" {} ", top_folder(file.path));
    for (std::size_t i = 0; i < code_lines.size(); ++i) {
        for (std::size_t k = 0; k < words.size(); ++k) {
            const Word& word = words[k];
            if (word.folders != nullptr &&
                std::string_view(word.folders).find(folder) == std::string_view::npos) {
                continue;
            }
            if (word.excuse != nullptr && lines[i].find(word.excuse) != std::string_view::npos) {
                continue;
            }
            std::cmatch match;
            const char* begin = code_lines[i].data();
            if (!std::regex_search(begin, begin + code_lines[i].size(), match, patterns[k])) {
                continue;
            }
            findings.push_back(
                {file.path, i + 1, fmt::format("'{}': {}", match.str(), word.problem)});
        }
    }
    return findings;
}

// catch_discover_tests() would make two tests of such a name, which both fail.
Findings check_test_names(const SourceFile& file) {
    Findings findings;
    if (top_folder(file.path) != "tests") return findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        constexpr std::string_view begin = "TEST_CASE(\"";
        if (!lines[i].starts_with(begin)) continue;
        const std::string_view name = lines[i].substr(begin.size());
        if (name.substr(0, name.find('"')).find(';') == std::string_view::npos) continue;
        findings.push_back({file.path, i + 1, "a test's name with a semicolon: ctest splits it"});
    }
    return findings;
}

// Only these two beginnings are known to tests/CMakeLists.txt and to `./dev test`.
Findings check_skips(const SourceFile& file) {
    Findings findings;
    if (top_folder(file.path) != "tests" || !is_code(file.path)) return findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        constexpr std::string_view begin = "WARN(\"";
        const std::size_t at = lines[i].find(begin);
        if (at == std::string_view::npos) continue;
        const std::string_view said = lines[i].substr(at + begin.size());
        if (said.starts_with("skipped: ") || said.starts_with("left out: ")) continue;
        if (said.find("skipped") == std::string_view::npos) continue;
        findings.push_back({file.path, i + 1, "say WARN(\"skipped: what is missing\")"});
    }
    return findings;
}

Findings check_titles(const SourceFile& file) {
    if (!file.path.ends_with(".md")) return {};
    const auto lines = lines_of(file.text);
    std::size_t titles = 0;
    std::size_t last = 1;
    bool in_example = false;  // a comment of a shell is no title
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with("```") || lines[i].starts_with("~~~")) in_example = !in_example;
        if (in_example || !lines[i].starts_with("# ")) continue;
        ++titles;
        last = i + 1;
    }
    if (titles == 1) return {};
    return {{file.path, last, fmt::format("{} lines begin with '# ', expected one title", titles)}};
}

Findings check_paths(const SourceFile& file) {
    // In pieces, or this file would be a finding.
    static const std::regex machine_path(
        "(^|[^A-Za-z0-9_.~-])(/wo"
        "rk/|/ho"
        "me/)");
    Findings findings;
    if (file.text.find('\0') != std::string::npos) return findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!std::regex_search(lines[i].begin(), lines[i].end(), machine_path)) continue;
        findings.push_back({file.path, i + 1, "a folder that only one machine has"});
    }
    return findings;
}

// In comments, texts and pages. What others wrote (recorded data, their READMEs) stays as it is.
Findings check_prose(const SourceFile& file) {
    // A letter in brackets, or this file would be a finding.
    static const std::regex refused(
        R"(\b(whoe[v]er|likewi[s]e|as everywhe[r]e|thousand mil[l]ion)\b)",
        std::regex::icase | std::regex::optimize);
    Findings findings;
    const bool is_ours = !file.path.starts_with("tests/data/");
    if (!is_ours || file.text.find('\0') != std::string::npos) return findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::cmatch match;
        const char* begin = lines[i].data();
        if (!std::regex_search(begin, begin + lines[i].size(), match, refused)) continue;
        findings.push_back(
            {file.path, i + 1, fmt::format("'{}': say who, what or how much", match.str())});
    }
    return findings;
}

}  // namespace ukemi::tidy
