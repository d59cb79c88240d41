// read_times.cpp — tables whose keys are numbers, and times that depend on how many workers there
// are.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

std::int64_t number_of(const ConfigReader& table, const std::string& key, std::int64_t most,
                       std::string_view what) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    const bool whole = error == std::errc{} && end == key.data() + key.size();
    // "01" would be a second name for "1".
    if (!whole || number < 1 || number > most || key.front() == '0') {
        table.fail("", fmt::format("expected {} from 1 to {} as keys, such as \"8\", found \"{}\"",
                                   what, most, key));
    }
    return number;
}

policies::TimeBySize read_time_table(ConfigReader& config, std::string_view key, Duration longest) {
    ConfigReader table = config.object(key);
    policies::TimeBySize times;
    for (const std::string& size : table.keys()) {
        const std::int64_t workers = number_of(table, size, instances_most, "sizes of the group");
        times.push_back({static_cast<std::int32_t>(workers),
                         bounded_duration(table, size, Duration{}, longest)});
    }
    if (times.empty()) config.fail(key, "expected at least one time, such as {\"1\": \"30 s\"}");
    std::ranges::sort(times, {}, &policies::SizedTime::workers);
    table.finish();
    return times;
}

policies::TimeBySize read_times_by_size(ConfigReader& config, std::string_view key,
                                        Duration longest) {
    if (config.is_object(key)) return read_time_table(config, key, longest);
    return {{1, bounded_duration(config, key, Duration{}, longest)}};
}

}  // namespace ukemi::scenarios
