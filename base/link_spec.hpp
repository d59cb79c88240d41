// link_spec.hpp — a link as files describe it: {"bandwidth": "10 Gbit/s", "latency": "50 us"}.
#pragma once

#include <optional>

#include "base/config_reader.hpp"
#include "base/quantity.hpp"

namespace ukemi {

struct LinkSpec {
    BytesPerSecond bandwidth;
    Duration latency;
};

// The two keys of a section that may have others: a bandwidth above zero, a latency of at most a
// minute. What is not said is as in `otherwise`; without one a bandwidth must be said.
LinkSpec read_link(ConfigReader& section, const std::optional<LinkSpec>& otherwise = std::nullopt);

}  // namespace ukemi
