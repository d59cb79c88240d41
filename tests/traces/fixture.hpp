// fixture.hpp — reads a text as a trace, or hands back the complaint.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "tests/scratch_folder.hpp"
#include "traces/reader.hpp"

namespace ukemi::test {

inline traces::Trace read(std::string_view text, const traces::ReadOptions& options = {}) {
    return traces::read_trace_text(text, "t", options);
}

// What is wrong with the text, empty if nothing is.
inline std::string complaint(std::string_view text, const traces::ReadOptions& options = {}) {
    try {
        traces::read_trace_text(text, "t", options);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

// (seconds, value) and the end, for short expectations.
inline traces::AvailabilitySeries counts(const std::vector<std::pair<double, std::int32_t>>& steps,
                                         double end_s) {
    traces::AvailabilitySeries series;
    for (const auto& [at_s, value] : steps) {
        series.steps.push_back({Instant::at(seconds(at_s)), value});
    }
    series.end = Instant::at(seconds(end_s));
    return series;
}

inline traces::PriceSeries prices(const std::vector<std::pair<double, double>>& steps,
                                  double end_s) {
    traces::PriceSeries series;
    for (const auto& [at_s, usd] : steps) {
        series.steps.push_back({Instant::at(seconds(at_s)), dollars_per_hour(usd)});
    }
    series.end = Instant::at(seconds(end_s));
    return series;
}

inline std::filesystem::path written(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
}

}  // namespace ukemi::test
