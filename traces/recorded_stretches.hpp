// recorded_stretches.hpp — a market put together from stretches of recorded ones.
//
// The stationary bootstrap (Politis and Romano, 1994), region by region: each generated region is
// made of one recorded region. A stretch of geometric length is taken from a place drawn anywhere
// in its recording, then the next one; a recording that ends goes on at its beginning. Its zones
// take theirs from the same place, each from the same recorded zone throughout, so that they are
// short together as those were and as unlike each other. Run lengths, hours of scarcity and bursts
// within a stretch are the recorded ones, whatever their law. Times are kept to the second,
// whatever the sampling. Nothing longer than the recording is known to it, and no prices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

struct RecordedZone {
    std::string zone;           // zones of a region: region_of_zone()
    std::int64_t begins_s = 0;  // after the first of its region
    std::int64_t length_s = 1;
    std::vector<std::int64_t> at_s;  // from its beginning; the first is 0
    std::vector<std::int32_t> held;  // from each of them on
};

struct RecordedStretches {
    Duration mean;                    // of a stretch
    std::vector<RecordedZone> zones;  // none: off
};

// Of the series with availability, by their zones.
std::vector<RecordedZone> recorded_zones(std::span<const TraceSeries> series);

// The `index`-th zone, with availability. Zones come in rounds: each has every recorded zone once,
// regions and their zones in an order drawn anew. Names: "region-1a", "region-1b", "region-2a", ….
TraceSeries zone_of_stretches(const RecordedStretches& recorded, std::uint64_t seed,
                              std::int32_t index, Duration length);

}  // namespace ukemi::traces
