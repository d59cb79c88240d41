// scenario_text.hpp — small scenarios for tests, and files for them to name.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "scenarios/reader/scenario.hpp"

namespace ukemi {

// The shipped ones.
inline const std::filesystem::path scenario_folder =
    std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios";

// 10 h of work in 20 h on one instance that starts at once, billed to the nanosecond.
inline scenarios::Scenario small_scenario(std::string_view market,
                                          const std::filesystem::path& folder = ".",
                                          std::string_view more = R"("replay": ["spot_only"])") {
    return scenarios::scenario_from_text(fmt::format(R"({{"name": "small", "seed": 1,
        "job": {{"work": "10 h", "deadline": "20 h"}},
        "cluster": {{"count": 1}}, "market": {}, {}}})",
                                                     market, more),
                                         folder / "small.json");
}

inline std::filesystem::path write_text(const std::filesystem::path& file, std::string_view text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
}

// The message of the InputError that `action` throws.
template <class Action>
std::string complaint_of(Action action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "(no complaint)";
}

}  // namespace ukemi
