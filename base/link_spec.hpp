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
// minute, which is none where it is not said.
LinkSpec read_link(ConfigReader& section);

// The same, where something else says what the section does not.
struct LinkSaid {
    std::optional<BytesPerSecond> bandwidth;
    std::optional<Duration> latency;
};
LinkSaid read_link_said(ConfigReader& section);

}  // namespace ukemi
