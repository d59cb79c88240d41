// step_rates.cpp — reads the table of rates; what jobs do to each other on one GPU is left out.
#include "traces/step_rates.hpp"

#include <fmt/format.h>

#include "base/config_reader.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"

namespace ukemi::traces {

StepRates::StepRates(const std::filesystem::path& file) : file_(file.string()) {
    ConfigReader root = ConfigReader::from_text(read_file(file), file_);
    for (const std::string& type : root.keys()) {
        ConfigReader kinds = root.object(type);
        for (const std::string& kind : kinds.keys()) {
            constexpr double rate_most = 1e9;
            rates_[type][kind] = kinds.object(kind).number("null", 0, rate_most);
        }
    }
}

double StepRates::steps_per_s(std::string_view gpu_type, std::string_view kind) const {
    const auto on_type = rates_.find(gpu_type);
    if (on_type == rates_.end()) {
        std::string names;
        for (const auto& [name, rates] : rates_) names += (names.empty() ? "" : ", ") + name;
        throw InputError(
            file_, "",
            fmt::format("has no GPU type {}; the cluster's \"gpu_type\" may be one of {}",
                        quoted(gpu_type), names));
    }
    const auto rate = on_type->second.find(kind);
    return rate == on_type->second.end() ? 0 : rate->second;
}

}  // namespace ukemi::traces
