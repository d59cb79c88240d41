// recorded.hpp — where tests find recorded data and peers' outputs, which are not in the tree.
//
// Beside the checkout (../shared), or where UKEMI_DATA points (its `data` folder). Tests that need
// them say that they skip elsewhere.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace ukemi {

inline std::optional<std::filesystem::path> recorded_data() {
    const char* given = std::getenv("UKEMI_DATA");
    const std::filesystem::path folder =
        given != nullptr ? std::filesystem::path(given)
                         : std::filesystem::path(UKEMI_SOURCE_DIR) / "../shared/data";
    if (!std::filesystem::is_directory(folder)) return std::nullopt;
    return folder;
}

inline std::optional<std::filesystem::path> peer_outputs() {
    const auto data = recorded_data();
    if (!data || !std::filesystem::is_directory(*data / "../reference/peers")) return std::nullopt;
    return *data / "../reference/peers";
}

}  // namespace ukemi
