// recorded.hpp — where tests find recorded data and peers' outputs.
//
// The whole of it lies beside the checkout (../shared/data), or where UKEMI_DATA points. Elsewhere
// tests run on the slices in tests/data, which have the same names (tests/data/README.md). A case
// that needs more says WARN("skipped: no recorded data: …") and returns; ctest reports it as
// skipped, and `./dev test` counts it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace ukemi {

inline std::filesystem::path data_slices() {
    return std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/data";
}

// The whole of it; nothing in a checkout without it.
inline std::optional<std::filesystem::path> whole_recorded_data() {
    const char* given = std::getenv("UKEMI_DATA");
    const std::filesystem::path folder =
        given != nullptr ? std::filesystem::path(given)
                         : std::filesystem::path(UKEMI_SOURCE_DIR) / "../shared/data";
    if (!std::filesystem::is_directory(folder / "normalized")) return std::nullopt;
    return folder;
}

// The whole of it, or the slices.
inline std::optional<std::filesystem::path> recorded_data() {
    if (auto whole = whole_recorded_data()) return whole;
    return data_slices();
}

// The one of them that has `place`, a file or folder below it; nothing where neither has.
inline std::optional<std::filesystem::path> recorded_data(std::string_view place) {
    for (const auto& data : {whole_recorded_data(), std::optional(data_slices())}) {
        if (data && std::filesystem::exists(*data / place)) return data;
    }
    return std::nullopt;
}

// What other programs computed: `peers`, `network`.
inline std::filesystem::path reference_outputs() {
    if (const auto whole = whole_recorded_data()) {
        const auto folder = *whole / "../reference";
        if (std::filesystem::is_directory(folder / "peers")) return folder;
    }
    return data_slices() / "reference";
}

inline std::optional<std::filesystem::path> peer_outputs() { return reference_outputs() / "peers"; }

}  // namespace ukemi
