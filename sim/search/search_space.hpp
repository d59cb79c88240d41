// search_space.hpp — what a search turns, and where its trials lie in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ukemi::sim {

// A key of the trial, and what it may be: one of the values, or a number in a range.
struct SearchedKey {
    std::string pointer = {};              // "/training/learning_rate"
    std::vector<std::string> values = {};  // as JSON, in order; empty: a range
    double low = 0;
    double high = 0;
    bool is_logarithmic = false;
    bool is_whole = false;
    std::size_t points = 0;  // of a grid on the range, both ends among them
};
using SearchSpace = std::vector<SearchedKey>;

// The values, by key of the space: as JSON.
using TrialSettings = std::vector<std::string>;

// From the stream "search/trials" of the seed: the same for each searcher, however many it starts.
std::vector<TrialSettings> drawn_settings(const SearchSpace& space, std::size_t trials,
                                          std::uint64_t seed);
// All combinations; the last key changes fastest.
std::vector<TrialSettings> grid_settings(const SearchSpace& space);
std::size_t grid_size(const SearchSpace& space);
// As population based training explores: each number 0.8 or 1.2 times what it was, within its
// range; of values the one before or after. From a stream of its own.
TrialSettings explored_settings(const SearchSpace& space, const TrialSettings& from,
                                std::uint64_t seed, std::size_t trial, std::int64_t units);

}  // namespace ukemi::sim
