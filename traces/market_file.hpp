// market_file.hpp — parameters of the market generator as a JSON file, for scenarios to name.
//
// What `ukemi fit` writes. Every number has its unit in its key; an unknown key, a missing one or a
// value that the generator cannot work with is an InputError with file and path. What is written
// reads back equal.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "traces/generator.hpp"

namespace ukemi::traces {

MarketParameters read_market_parameters(const std::filesystem::path& file);
MarketParameters read_market_parameters_text(std::string_view text, std::string_view file);
std::string to_json(const MarketParameters& parameters);

}  // namespace ukemi::traces
