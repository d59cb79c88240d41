// held_capacity.hpp — when how many spot machines can be held in each zone, and for what.
//
// A machine that is asked for while the zone would launch it is there after the provisioning; it
// stays until the notice after the zone would no longer launch as many. Under rules by which
// holding may cost less than the price of the moment (bids, hours that are charged as they begin,
// time that is free if taken), prices here are the least that a moment may cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/market/market.hpp"

namespace ukemi::scenarios {

struct Stay {                    // in nanoseconds from the start
    std::int64_t from = 0;       // they are there at the earliest
    std::int64_t last_from = 0;  // they may still come: the announcement
    std::int64_t until = 0;      // they are taken
};

struct PriceStep {
    std::int64_t at = 0;
    std::int64_t price = 0;  // nano-dollars an hour, of one machine
};

class HeldCapacity {
public:
    // Up to `count_most` machines a zone, until `horizon`.
    HeldCapacity(const sim::MarketData& market, std::int32_t count_most, Instant horizon);

    // How long a single machine may be held for nothing before it is taken; its prices are then
    // those of the moment. Zero if there is nothing free, or prices are bounds for it.
    std::int64_t free_before_loss() const { return free_before_loss_; }

    std::uint32_t zone_count() const { return static_cast<std::uint32_t>(zones_.size()); }
    // How many machines are looked at, ascending from 1: all counts, or some of many.
    std::span<const std::int32_t> counts() const { return counts_; }
    std::int32_t count_most() const { return count_most_; }  // that any zone ever has, or we want
    // So many at once; `count` is one of counts(). May touch, in order of `from`.
    std::vector<Stay> stays(std::uint32_t zone, std::int32_t count) const;
    // Where prices change.
    std::span<const PriceStep> prices(std::uint32_t zone) const { return zones_[zone].prices; }
    // The price of one machine, or the least of the time between.
    std::int64_t price(std::uint32_t zone, std::int64_t from, std::int64_t until) const;
    Int128 charge(std::uint32_t zone, std::int64_t from, std::int64_t until) const;
    bool prices_are_bounds() const { return bounds_; }

private:
    struct CapacityStep {
        std::int64_t at = 0;
        std::int32_t count = 0;
    };
    struct Zone {
        std::vector<CapacityStep> capacity;  // that would be launched
        std::vector<PriceStep> prices;
        std::vector<Int128> metered;  // from the start to each price step
    };
    Zone zone_of(const sim::ZoneData& data, const sim::MarketData& market) const;
    void lower_prices(Zone& zone, const sim::MarketData& market) const;
    std::size_t step_at(const Zone& zone, std::int64_t at) const;

    std::int64_t horizon_;
    std::int64_t notice_;
    std::int64_t provisioning_;
    bool bounds_;
    std::int64_t free_before_loss_ = 0;
    std::int32_t count_most_ = 0;
    std::vector<std::int32_t> counts_;
    std::vector<Zone> zones_;
};

}  // namespace ukemi::scenarios
