// recorded_series.hpp — compares what a reader made of a raw file with the same series in one
// common form, which came with the recorded data.
//
// The common form writes times with six digits ("%.6g"), so that times are compared as they would
// be written; values must be equal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/recorded.hpp"
#include "tests/traces/fixture.hpp"

namespace ukemi::test {

namespace fs = std::filesystem;

inline std::vector<fs::path> files_under(const fs::path& folder) {
    std::vector<fs::path> files;
    if (!fs::is_directory(folder)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const bool is_text = name.find("LICENSE") == 0 || name.find("README") == 0;
        if (entry.is_regular_file() && !is_text) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

inline std::string as_written(Instant at) {
    return fmt::format("{:.6g}", to_seconds(at.since_start()));
}

template <class Value>
void check_equal(const traces::Series<Value>& raw, const traces::Series<Value>& common,
                 Duration longer) {
    CHECK(raw.steps.size() == common.steps.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < std::min(raw.steps.size(), common.steps.size()); ++i) {
        if (as_written(raw.steps[i].at) != as_written(common.steps[i].at)) ++different;
        if (raw.steps[i].value != common.steps[i].value) ++different;
    }
    CHECK(different == 0);
    CHECK(as_written(raw.end + longer) == as_written(common.end));
}

// Series kept back elsewhere have no counterpart: nothing to compare.
inline bool check_availability(const traces::TraceSeries& raw, const fs::path& data,
                               const std::string& id, Duration longer = {}) {
    const fs::path common = data / "normalized/avail" / (id + ".csv");
    CAPTURE(id);
    if (!fs::exists(common)) return false;
    REQUIRE(raw.availability);
    check_equal(*raw.availability, *traces::read_trace(common).series[0].availability, longer);
    return true;
}

inline bool check_price(const traces::TraceSeries& raw, const fs::path& data, const std::string& id,
                        Duration longer = whole_seconds(1)) {
    const fs::path common = data / "normalized/price" / (id + ".csv");
    CAPTURE(id);
    if (!fs::exists(common)) return false;
    REQUIRE(raw.price);
    // The common form lets the last price of a list hold for a second; here it holds for no time.
    check_equal(*raw.price, *traces::read_trace(common).series[0].price, longer);
    return true;
}

// "us-east-1b" and "intel_64" of "us-east-1b_intel_64".
inline std::pair<std::string, std::string> zone_and_rest(const std::string& name) {
    const std::size_t bar = name.find('_');
    return {name.substr(0, bar), bar == std::string::npos ? "" : name.substr(bar + 1)};
}

inline std::string replaced(std::string text, char from, char to) {
    std::replace(text.begin(), text.end(), from, to);
    return text;
}

}  // namespace ukemi::test

// Declares the folder of the recorded data as `data`; ends the case where `place` is not in it.
#define NEEDS_RECORDED_DATA(data, place)                \
    const auto found_data = recorded_data(place);       \
    if (!found_data) {                                  \
        WARN("skipped: no recorded data: " << (place)); \
        return;                                         \
    }                                                   \
    const std::filesystem::path data = *found_data
