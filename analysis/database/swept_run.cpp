#include "analysis/database/swept_run.hpp"

#include <nlohmann/json.hpp>

namespace ukemi::analysis {

namespace {

using nlohmann::json;

json packed_value(const records::RunValue& value) {
    return std::visit(
        [](const auto& held) -> json {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
                return nullptr;
            } else {
                return held;
            }
        },
        value);
}

records::RunValue unpacked_value(const json& value) {
    if (value.is_null()) return {};
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return value.get<double>();
    return value.get<std::int64_t>();
}

}  // namespace

std::vector<std::uint8_t> packed(std::span<const SweptRun> runs) {
    json all = json::array();
    for (const SweptRun& run : runs) {
        json values = json::array();
        for (const records::RunValue& value : run.values) values.push_back(packed_value(value));
        all.push_back(json::array({run.key, run.scenario, run.trace_digest, run.trace, run.policy,
                                   std::move(values), run.doubts, run.wall_s}));
    }
    return json::to_msgpack(all);
}

std::vector<SweptRun> unpacked(std::span<const std::uint8_t> bytes) {
    std::vector<SweptRun> runs;
    for (const json& one : json::from_msgpack(bytes)) {
        SweptRun& run = runs.emplace_back();
        run = {one.at(0).get<std::int64_t>(),
               one.at(1).get<std::int64_t>(),
               one.at(2).get<std::uint64_t>(),
               one.at(3).get<std::string>(),
               one.at(4).get<std::string>(),
               {},
               one.at(6).get<std::vector<std::string>>(),
               one.at(7).get<double>()};
        for (const json& value : one.at(5)) run.values.push_back(unpacked_value(value));
    }
    return runs;
}

}  // namespace ukemi::analysis
