#include "base/bounded_duration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/complaint_list.hpp"
#include "base/key_notes.hpp"

namespace ukemi {

Duration bounded_duration(ConfigReader& config, std::string_view key, Duration least, Duration most,
                          std::optional<Duration> otherwise) {
    const Duration value = otherwise ? config.duration(key, *otherwise) : config.duration(key);
    const std::string limits =
        fmt::format("from {} to {}", format_duration(least), format_duration(most));
    note_limits(config, key, limits);
    const bool left_out = otherwise && value == *otherwise;
    if (left_out || (value >= least && value <= most)) return value;
    complain(config, key, fmt::format("expected {}, found {}", limits, format_duration(value)));
    return otherwise.value_or(std::clamp(value, least, most));
}

}  // namespace ukemi
