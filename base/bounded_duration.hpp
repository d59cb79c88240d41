// bounded_duration.hpp — a duration that a document gives, within bounds that its notes name.
#pragma once

#include <optional>
#include <string_view>

#include "base/config_reader.hpp"

namespace ukemi {

// Where it is outside of them, a complaint that names them. Without a default, the key must be
// there; a default may be anything.
Duration bounded_duration(ConfigReader& config, std::string_view key, Duration least, Duration most,
                          std::optional<Duration> otherwise = std::nullopt);

}  // namespace ukemi
