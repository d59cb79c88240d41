#include "traces/nccl_lines.hpp"

#include <algorithm>
#include <array>

#include "traces/timestamp.hpp"

namespace ukemi::traces::nccl {

namespace {

constexpr std::size_t tokens_max = 64;  // of a line that can be a row
constexpr std::string_view blanks = " \t\r";

std::string_view from_first_word(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

// How long the tag is that mpirun or srun begins the line with; 0 if neither does.
std::size_t tag_length(std::string_view line) {
    if (line.starts_with("[")) {
        const std::size_t end = line.find(">:");
        if (end != std::string_view::npos && end < line.find_first_of(blanks)) return end + 2;
    }
    const std::size_t colon = line.find(": ");
    const bool is_rank =
        colon != std::string_view::npos && colon < 8 && all_digits(line.substr(0, colon));
    return is_rank ? colon + 2 : 0;
}

// What is remembered of a word that may stand before each line; empty if it is no such word.
std::string_view prefix_kind(std::string_view word) {
    constexpr std::size_t word_max = 300;
    if (word.size() > word_max) return {};
    if (word.find('T') != std::string_view::npos && parse_timestamp(word)) return "a time";
    const bool names = word.size() > 1 && (word.back() == ':' || word.back() == ']');
    const bool quotes = !word.empty() && word.find_first_not_of('>') == std::string_view::npos;
    return names || quotes ? word : std::string_view();
}

}  // namespace

Tokens split(std::string_view line) {
    Tokens tokens;
    std::size_t at = 0;
    while (tokens.size() <= tokens_max) {
        at = line.find_first_not_of(blanks, at);
        if (at == std::string_view::npos) break;
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        tokens.push_back(line.substr(at, end - at));
        at = end;
    }
    return tokens;
}

bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_known_comment(std::string_view line) {
    line = from_first_word(line);
    if (line.starts_with("#")) line = from_first_word(line.substr(1));
    static constexpr std::array<std::string_view, 7> openings{"nThread ",
                                                              "nthread ",
                                                              "(B) ",
                                                              "Collective test starting:",
                                                              "nccl-tests version",
                                                              "Out of bounds val",
                                                              "Avg bus bandwidth"};
    for (const std::string_view opening : openings) {
        if (line.starts_with(opening)) return true;
    }
    const auto has = [](const Tokens& words, std::string_view word) {
        return std::ranges::find(words, word) != words.end();
    };
    if (line.starts_with("size")) {
        const Tokens words = split(line);
        return words.size() >= 4 && words[0] == "size" && words[1] == "count" &&
               (has(words, "time") || has(words, "cputime"));
    }
    if (line.starts_with("Rank")) {
        const Tokens words = split(line);
        return words.size() >= 4 && all_digits(words[1]) && has(words, "Pid") &&
               has(words, "device");
    }
    return false;
}

std::string_view LinePrefixes::without(std::string_view line) {
    constexpr int prefixes_most = 4;
    return without(line, prefixes_most);
}

std::string_view LinePrefixes::without(std::string_view line, int prefixes_left) {
    line = from_first_word(line);
    if (prefixes_left == 0) return line;
    if (const std::size_t tag = tag_length(line); tag > 0) {
        return without(line.substr(tag), prefixes_left - 1);
    }
    const std::size_t end = std::min(line.find_first_of(blanks), line.size());
    const std::string_view kind = prefix_kind(line.substr(0, end));
    if (kind.empty()) return line;
    const std::string_view rest = without(line.substr(end), prefixes_left - 1);
    if (!seen_.contains(kind)) {
        if (!is_known_comment(rest)) return line;
        seen_.emplace(kind);
    }
    return rest;
}

}  // namespace ukemi::traces::nccl
