// step_rates.hpp — Gavel's table of how many steps a second jobs make on types of GPU.
//
// A JSON object, gzipped or not: by GPU type, then by kind, such as "('ResNet-18 (batch size 16)',
// 1)", an object whose "null" is the rate alone, on as few machines as can be; 0: it cannot run so.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace ukemi::traces {

class StepRates {
public:
    explicit StepRates(const std::filesystem::path& file);
    // InputError for a type that the table has not; 0 for a kind that it has not there.
    double steps_per_s(std::string_view gpu_type, std::string_view kind) const;

private:
    std::string file_;
    std::map<std::string, std::map<std::string, double, std::less<>>, std::less<>> rates_;
};

}  // namespace ukemi::traces
