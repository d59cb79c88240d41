// generator.cpp — zones from the chain of a group, and the walk of a price, drawn by inversion.
//
// Waits are rounded up to the grid (the sampling, or a second) as soon as they are drawn, so that
// from there on everything is integers.
#include "traces/generator.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "traces/group_chain.hpp"
#include "traces/limits.hpp"
#include "traces/market_statistics.hpp"
#include "traces/series_builder.hpp"

namespace ukemi::traces {

namespace {

// A market does not begin full: a month passes before the series begins.
constexpr Duration burn_in = days(30);

AvailabilitySeries generate_availability(const MarketParameters& parameters, std::uint64_t seed,
                                         const std::string& zone, const std::string& region,
                                         Duration length) {
    SeriesBuilder<std::int32_t> builder;
    if (!parameters.has_losses) {
        builder.add(Instant{}, parameters.capacity);
        return builder.finish(Instant::at(length));
    }
    const std::int64_t first = burn_in.raw() / parameters.sampling.raw();
    // In ticks, because a wait may end long after everything that a Duration can hold.
    const std::int64_t end =
        first + round_up_to(length, parameters.sampling).raw() / parameters.sampling.raw();
    GroupChain chain(parameters, seed, zone, region, first);
    while (chain.next_tick() <= first) chain.advance();
    builder.add(Instant{}, chain.held());
    for (;;) {
        const std::int64_t tick = chain.next_tick();
        if (tick >= end) return builder.finish(Instant::at(length));
        const Instant at = Instant::at((tick - first) * parameters.sampling);
        while (chain.next_tick() == tick) chain.advance();  // a loss and a refill: one step
        builder.add(at, chain.held());
    }
}

// Real prices have four decimals, and an integer number of them is the same everywhere.
class PriceWalk {
public:
    PriceWalk(const PriceParameters& parameters, RandomStream random)
        : parameters_(parameters), random_(random), base_(units(parameters.usd_mean)) {
        if (parameters.changes_per_day > 0) next_change_ = wait(24 / parameters.changes_per_day);
        if (parameters.spikes_per_day > 0) next_spike_ = wait(24 / parameters.spikes_per_day);
    }

    Instant next() const { return std::min({next_change_, next_spike_, spike_end_}); }
    Price price() const { return (spike_ > 0 ? spike_ : base_) * unit; }

    void advance() {
        const Instant now = next();
        if (now == spike_end_) {
            spike_ = 0;
            spike_end_ = Instant::never();
        } else if (now == next_spike_) {
            const double above = parameters_.usd_spike_mean - parameters_.usd_spike_min;
            spike_ = units(std::min(parameters_.usd_max,
                                    parameters_.usd_spike_min + random_.exponential(above)));
            spike_end_ = now + wait(parameters_.spike_h_mean).since_start();
            next_spike_ = spike_end_ + wait(24 / parameters_.spikes_per_day).since_start();
        } else {
            change_base();
            next_change_ = now + wait(24 / parameters_.changes_per_day).since_start();
        }
    }

private:
    static constexpr Price unit = Price::of(100'000);  // 0.0001 USD/h
    static std::int64_t units(double usd) { return round_nearest(usd * 1e4); }

    // At least a second, in whole seconds.
    Instant wait(double hours_mean) {
        const double seconds = std::min(random_.exponential(hours_mean) * 3600, 1e9);
        return Instant::at(whole_seconds(std::max<std::int64_t>(1, round_up(seconds))));
    }

    void change_base() {
        const std::int64_t mean = units(parameters_.usd_mean);
        const bool up = random_.chance(base_ < mean ? 0.55 : 0.45);  // a weak pull to the mean
        const double size =
            static_cast<double>(base_) * random_.exponential(parameters_.step_share_mean);
        const std::int64_t step = std::max<std::int64_t>(1, round_nearest(size));
        base_ = std::clamp(base_ + (up ? step : -step), units(parameters_.usd_floor),
                           units(parameters_.usd_max));
    }

    const PriceParameters& parameters_;
    RandomStream random_;
    std::int64_t base_;       // in 0.0001 USD/h
    std::int64_t spike_ = 0;  // above it while a spike lasts, else 0
    Instant next_change_ = Instant::never();
    Instant next_spike_ = Instant::never();
    Instant spike_end_ = Instant::never();
};

PriceSeries generate_price(const PriceParameters& parameters, RandomStream random,
                           Duration length) {
    SeriesBuilder<Price> builder;
    PriceWalk walk(parameters, random);
    builder.add(Instant{}, walk.price());
    for (;;) {
        const Instant at = walk.next();
        if (at >= Instant::at(length)) return builder.finish(Instant::at(length));
        while (walk.next() == at) walk.advance();
        builder.add(at, walk.price());
    }
}

}  // namespace

std::vector<TraceSeries> generate_market(const MarketParameters& parameters, std::uint64_t seed,
                                         std::int32_t zones, Duration length) {
    INVARIANT(zones >= 1 && zones <= 1000);
    INVARIANT(length > Duration{} && length <= trace_length_max);
    INVARIANT(parameters.sampling > Duration{} && parameters.capacity >= 1);
    std::vector<TraceSeries> market;
    for (std::int32_t i = 0; i < zones; ++i) {
        TraceSeries& series = market.emplace_back();
        if (!parameters.recorded.zones.empty()) {
            series = zone_of_stretches(parameters.recorded, seed, i, length);
        } else {
            const std::int32_t of_region = std::max(1, parameters.shared.zones_per_region);
            series.zone = "zone-" + zone_letters(i);
            series.availability = generate_availability(
                parameters, seed, series.zone, "region-" + zone_letters(i / of_region), length);
        }
        if (!parameters.price) continue;
        series.price = generate_price(
            *parameters.price, RandomStream(seed, "market/" + series.zone + "/price"), length);
    }
    return market;
}

}  // namespace ukemi::traces
