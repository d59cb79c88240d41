// use_rules.cpp — what the product offers, the product uses: code for tests is in tests/support.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

struct Kept {
    std::string_view name;
    std::string_view reason;
};
// What only tests, benchmarks and studies call, and why it stays.
constexpr std::array kept = {
    Kept{"costs_from_text", "a reader without its file, for the fuzzer"},
    Kept{"parse_checkpoint", "as costs_from_text"},
    Kept{"read_market_parameters_text", "as costs_from_text"},
    Kept{"read_nccl_topology", "the parser with its file"},
    Kept{"read_smi_topology", "as read_nccl_topology"},
    Kept{"deallocate", "std::vector calls an allocator's"},
    Kept{"encoded_bytes", "what a step sends, counted by another way than sending"},
    Kept{"group_of", "a look into a learning state"},
    Kept{"known_shares", "the table behind curve_for, whose rows are checked one by one"},
    Kept{"measured_curves", "as known_shares"},
    Kept{"products_by", "which library multiplies, beside times and results that depend on it"},
};

bool is_product(std::string_view path) {
    const std::string_view folder = top_folder(path);
    return folder != "tests" && folder != "bench" && folder != "studies";
}

void add_matches(const std::string& code, const std::regex& begun,
                 std::vector<std::string>& names) {
    for (std::sregex_iterator match(code.begin(), code.end(), begun), end; match != end; ++match) {
        if (match->str(1) != "alignas") names.push_back(match->str(1));
    }
}

// Functions that begin a line of their own, at namespace scope, and those that a header declares
// in a class or a class of a class: their names.
std::vector<std::string> begun_in(const std::string& code, bool is_header) {
    static const std::regex begun(R"((?:^|\n)[A-Za-z][\w:<>,*& ]*[ *&](?:\w+::)*([a-z]\w*)\()");
    static const std::regex method(
        R"(\n(?: {4}| {8})(?!return\b|throw\b|else\b|case\b|co_|using\b|new\b|delete\b))"
        R"([A-Za-z][\w:<>,*& \[\]]*[ *&]([a-z]\w*)\()");
    std::vector<std::string> names;
    add_matches(code, begun, names);
    if (is_header) add_matches(code, method, names);
    return names;
}

// Tables make names of a kind's prefix and the name in a line.
std::string name_in_table(const std::string& name) {
    for (const std::string_view prefix : {"make_", "draw_", "add_", "read_", "list_"}) {
        if (name.starts_with(prefix)) return name.substr(prefix.size());
    }
    return {};
}

}  // namespace

Findings check_use(std::span<const SourceFile> files) {
    std::map<std::string, std::size_t> words;   // in the product: how often
    std::map<std::string, std::size_t> begun;   // of these, as the beginning of a function
    std::map<std::string, std::string> header;  // that declares it
    std::set<std::string> in_tables;
    static const std::regex word(R"(\b[a-z]\w*\b)");
    for (const SourceFile& file : files) {
        if (!is_product(file.path)) continue;
        const bool is_table = file.path.ends_with(".def");
        if (!is_code(file.path) && !is_table) continue;
        const std::string code = code_only(file.text);
        for (std::sregex_iterator match(code.begin(), code.end(), word), end; match != end;
             ++match) {
            ++words[match->str()];
            if (is_table) in_tables.insert(match->str());
        }
        for (const std::string& name : begun_in(code, is_header(file.path))) {
            ++begun[name];
            if (is_header(file.path)) header.try_emplace(name, file.path);
        }
    }
    Findings findings;
    for (const auto& [name, path] : header) {
        const bool used = words[name] > begun[name] || in_tables.contains(name_in_table(name));
        const bool is_kept = std::ranges::find(kept, name, &Kept::name) != kept.end();
        if (used && is_kept) {
            findings.push_back({path, 1, fmt::format("{} is used: take it off the list", name)});
        }
        if (used || is_kept) continue;
        findings.push_back({path, 1, fmt::format("nothing but tests calls {}", name)});
    }
    return findings;
}

}  // namespace ukemi::tidy
