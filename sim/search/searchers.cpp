// searchers.cpp — the searchers of searcher_table.def: their functions declared, and their table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "sim/search/searcher.hpp"

namespace ukemi::sim {

#define SEARCHER(searcher, ...) std::unique_ptr<Searcher> make_##searcher(ConfigReader& parameters);
#include "sim/search/searcher_table.def"
#undef SEARCHER

namespace {

#define SEARCHER(searcher, what, rule, ...) \
    SearcherEntry{                          \
        .name = #searcher, .summary = what, .source = rule, .make = make_##searcher, __VA_ARGS__},
constexpr std::array searchers{
#include "sim/search/searcher_table.def"
};
#undef SEARCHER

}  // namespace

std::span<const SearcherEntry> all_searchers() { return searchers; }

const SearcherEntry* find_searcher(std::string_view name) {
    const auto found = std::ranges::find(searchers, name, &SearcherEntry::name);
    return found == searchers.end() ? nullptr : &*found;
}

std::vector<std::string_view> searcher_names() {
    std::vector<std::string_view> names;
    for (const SearcherEntry& entry : searchers) names.push_back(entry.name);
    return names;
}

std::string piece_name(const TrialPiece& piece) {
    return fmt::format("trial-{}@{}", piece.trial, piece.until);
}

void sort_by_score(std::vector<TrialScore>& scores) {
    std::ranges::sort(scores, [](const TrialScore& a, const TrialScore& b) {
        return std::tuple(-a.score, a.trial) < std::tuple(-b.score, b.trial);
    });
}

}  // namespace ukemi::sim
