// recorded_stretches.hpp — a market put together from stretches of recorded ones.
//
// The stationary bootstrap (Politis and Romano, 1994) over zones: a stretch of geometric length is
// taken from a place drawn anywhere in the recording, then the next one; a recording that ends goes
// on at its beginning. Run lengths, hours of scarcity and bursts within a stretch are the recorded
// ones, whatever their law. Zones of a generated region take their stretches from zones of one
// recorded region at the same time, so that they are short together as those were. Nothing longer
// than the recording is known to it, and no prices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

struct RecordedZone {
    std::string zone;                // zones of a region: region_of_zone()
    std::int64_t begins = 0;         // ticks of the sampling after the first of its region
    std::int64_t ticks = 1;          // how many it has
    std::vector<std::int64_t> at;    // ticks from its beginning; the first is 0
    std::vector<std::int32_t> held;  // from each of them on
};

struct RecordedStretches {
    Duration mean;                    // of a stretch
    std::vector<RecordedZone> zones;  // none: off
};

// Of the series with availability, by their zones, at this sampling.
std::vector<RecordedZone> recorded_zones(std::span<const TraceSeries> series, Duration sampling);

// How many zones the largest recorded region has, and so each generated one.
std::int32_t largest_region(const RecordedStretches& recorded);

// One zone, the `index`-th of its generated region.
AvailabilitySeries availability_of_stretches(const RecordedStretches& recorded, Duration sampling,
                                             std::uint64_t seed, const std::string& region,
                                             std::int32_t index, Duration length);

}  // namespace ukemi::traces
