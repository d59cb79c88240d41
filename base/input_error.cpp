// input_error.cpp — the wording of a complaint; keeps it on one line whatever the input held.
#include "base/input_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/plain_text.hpp"

namespace ukemi {
namespace {

// Levenshtein's distance: how many characters to insert, delete or replace.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
            diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
        }
    }
    return row[b.size()];
}

}  // namespace

InputError::InputError(std::string_view file, std::string_view json_path, std::string_view problem)
    : std::runtime_error(one_line(json_path.empty()
                                      ? fmt::format("{}: {}", file, problem)
                                      : fmt::format("{}: at {}: {}", file, json_path, problem))) {}

InputError::InputError(std::string_view file, std::size_t line, std::size_t column,
                       std::string_view problem)
    : std::runtime_error(one_line(fmt::format("{}:{}:{}: {}", file, line, column, problem))) {}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
    constexpr std::size_t name_bytes_max = 200;  // the distance takes quadratic time
    if (name.size() > name_bytes_max) return {};
    // Two slips are near in a word, none in a single letter; long names may hold more.
    const std::size_t near = std::min(name.size() / 2, std::max<std::size_t>(2, name.size() / 4));
    std::string_view best;
    std::size_t best_distance = near + 1;
    for (const std::string_view candidate : known) {
        if (candidate.size() > name_bytes_max) continue;
        const std::size_t distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view nearest = nearest_name(name, known);
    return nearest.empty() ? "" : fmt::format(" (did you mean {}?)", ukemi::quoted(nearest));
}

}  // namespace ukemi
