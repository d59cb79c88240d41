// generator.hpp — a seeded spot market whose losses come in bursts, as recorded ones do.
//
// One zone is a continuous-time chain over "how many of the group can be held": quiet periods,
// bursts that take several instances (often all) at once, and refills in steps. Quiet periods and
// outages are short or long, two exponentials each: recorded markets flap for an hour and then stay
// calm for a day, which no single rate gives. The parameters of the shipped markets carry the
// recorded statistics that they were set to. Same seed and parameters, same series, on every
// machine. Prices draw from a stream of their own, so that neither changes the other. Four things
// are off unless a set asks for them, and change no bit while they are: quiet times of their own
// after an outage, a daily cycle, losses that zones of a region share, and lifetimes of instances.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "traces/lifetime_law.hpp"
#include "traces/recorded_stretches.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

// Exponential with the short mean in `short_share` of the draws, with the long one in the others.
struct ShortOrLong {
    double short_share;
    double short_h_mean;
    double long_h_mean;
};

struct PriceParameters {
    double usd_floor;        // never below
    double usd_mean;         // where small changes tend to
    double usd_max;          // never above
    double changes_per_day;  // small ones
    double step_share_mean;  // size of a small one, relative to the price
    double spikes_per_day;   // jumps above `usd_spike_min`, as in the bidding era; 0: none
    double spike_h_mean;     // how long one lasts
    double usd_spike_min;    // the on-demand price: above it everybody was outbid
    double usd_spike_mean;
};

// Losses come (1 + depth) times as often at the worst hour as on average, and (1 − depth) times at
// the best, half a day later; a sine between, constant within an hour. Outages end as much later.
struct DailyCycle {
    double depth = 0;  // 0 (off) to 0.9
    double worst_hour_utc = 0;
};

// Moments at which the zones of a region lose together; those hit get their first instances back
// together, too. Zones are put in regions in their order.
struct SharedLosses {
    std::int32_t zones_per_region = 1;
    double per_day = 0;        // 0: off
    double hit_share = 0;      // of the zones, how many each such moment hits
    double outage_factor = 1;  // how much longer than others these outages last
};

struct MarketParameters {
    std::string name;          // "v100-16-burst", …
    std::string summary;       // with the source of its statistics
    std::int32_t capacity;     // instances at most
    Duration sampling;         // steps of availability fall on multiples of this
    bool has_losses;           // false: always at capacity, only the price moves
    ShortOrLong quiet;         // from a loss, or from the first instance held, to the next loss
    double total_loss_share;   // of the bursts: those that take everything
    double burst_share_mean;   // of the held instances, what a partial burst takes; exponential
    ShortOrLong outage;        // from a burst until the refill begins
    double full_refill_share;  // of the refill steps: those that bring back everything
    double refill_step_mean;   // instances that another refill step brings back; geometric
    double refill_gap_h_mean;  // between the steps of a refill
    std::optional<PriceParameters> price = {};  // none: series without prices, as the record was
    // From the first instance held after none to the next loss, where that is another kind of time:
    // a market that flaps goes on flapping. Otherwise `quiet` is for both.
    std::optional<ShortOrLong> quiet_after_none = {};
    DailyCycle daily = {};
    SharedLosses shared = {};
    LifetimeLaw lifetimes = {};  // of each instance held, besides the bursts
    // With zones: availability is put together from stretches of them, and all above but the
    // sampling and the price is without effect.
    RecordedStretches recorded = {};
};

// What `sampling` may be.
inline constexpr Duration market_sampling_min = whole_seconds(1);
inline constexpr Duration market_sampling_max = days(1);

std::span<const MarketParameters> all_market_parameters();

// `zones` zones, independent of each other (but those of a region), for `length`; each with
// availability, and with a price if the parameters have one. Names "zone-a", "zone-b", …, "zone-z",
// "zone-aa", …, or those of zone_of_stretches(); a zone's series do not depend on how many others
// there are. Instant zero is midnight, UTC. 1 ≤ zones ≤ 1000, 0 < length ≤ 100 years.
std::vector<TraceSeries> generate_market(const MarketParameters& parameters, std::uint64_t seed,
                                         std::int32_t zones, Duration length);

}  // namespace ukemi::traces
