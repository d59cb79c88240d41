// expand.hpp — what users write short: patterns of files, ranges of seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::analysis {

// Files that match a shell pattern, sorted; a pattern that matches nothing is an InputError.
std::vector<std::filesystem::path> expand_glob(const std::string& pattern, std::string_view where);

// "1..10", "3", "1,2,7": seeds in that order.
std::vector<std::uint64_t> parse_seeds(const std::string& text, std::string_view where);

}  // namespace ukemi::analysis
