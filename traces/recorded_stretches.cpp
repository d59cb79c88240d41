// recorded_stretches.cpp — where each stretch comes from is drawn once a region, so that its zones
// agree.
#include "traces/recorded_stretches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "traces/market_statistics.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

using Region = std::vector<const RecordedZone*>;

std::vector<Region> regions_of(const RecordedStretches& recorded) {
    std::map<std::string_view, Region> by_name;
    for (const RecordedZone& zone : recorded.zones) {
        by_name[region_of_zone(zone.zone)].push_back(&zone);
    }
    std::vector<Region> regions;
    for (auto& [_, zones] : by_name) regions.push_back(std::move(zones));
    return regions;
}

// What a zone holds from a place on, which may lie before or behind it: it goes round.
class Walk {
public:
    Walk(const RecordedZone& zone, std::int64_t place) : zone_(zone) {
        const std::int64_t into = (place - zone.begins) % zone.ticks;
        tick_ = into < 0 ? into + zone.ticks : into;
        const auto after = std::ranges::upper_bound(zone.at, tick_);
        step_ = static_cast<std::size_t>(after - zone.at.begin()) - 1;
    }
    std::int32_t held() const { return zone_.held[step_]; }
    std::int64_t to_next() const {
        return (step_ + 1 < zone_.at.size() ? zone_.at[step_ + 1] : zone_.ticks) - tick_;
    }
    void next() {
        step_ = step_ + 1 < zone_.at.size() ? step_ + 1 : 0;
        tick_ = zone_.at[step_];
    }

private:
    const RecordedZone& zone_;
    std::int64_t tick_ = 0;
    std::size_t step_ = 0;
};

// A moment of all that was recorded, and so a region in proportion to that.
struct Moment {
    const Region* region = nullptr;
    std::size_t zone = 0;
    std::int64_t tick = 0;  // of its region
};
Moment drawn_moment(const std::vector<Region>& regions, std::int64_t all_ticks,
                    RandomStream& random) {
    std::int64_t left = random.integer(0, all_ticks - 1);
    for (const Region& region : regions) {
        for (std::size_t i = 0; i < region.size(); ++i) {
            if (left < region[i]->ticks) return {&region, i, region[i]->begins + left};
            left -= region[i]->ticks;
        }
    }
    INVARIANT(false);
    return {};
}

}  // namespace

std::vector<RecordedZone> recorded_zones(std::span<const TraceSeries> series, Duration sampling) {
    std::vector<RecordedZone> zones;
    std::map<std::string, std::int64_t, std::less<>> first;  // of each region, since 1970
    for (const TraceSeries& one : series) {
        if (!one.availability || one.availability->end == Instant{}) continue;
        RecordedZone zone{one.zone, 0, 1, {}, {}};
        const auto tick_of = [&](Instant at) { return at.since_start().raw() / sampling.raw(); };
        zone.ticks = std::max<std::int64_t>(1, tick_of(one.availability->end));
        for (const auto& step : one.availability->steps) {
            const std::int64_t tick = tick_of(step.at);
            if (tick >= zone.ticks) break;
            if (!zone.at.empty() && zone.at.back() == tick) {
                zone.held.back() = step.value;
                continue;
            }
            zone.at.push_back(tick);
            zone.held.push_back(step.value);
        }
        const std::int64_t start_ns = parse_timestamp(one.start).value_or(0);
        zone.begins = start_ns / sampling.raw();
        const auto [known, is_new] =
            first.try_emplace(std::string(region_of_zone(one.zone)), zone.begins);
        if (!is_new) known->second = std::min(known->second, zone.begins);
        zones.push_back(std::move(zone));
    }
    for (RecordedZone& zone : zones) zone.begins -= first.find(region_of_zone(zone.zone))->second;
    return zones;
}

std::int32_t largest_region(const RecordedStretches& recorded) {
    std::size_t largest = 1;
    for (const Region& one : regions_of(recorded)) largest = std::max(largest, one.size());
    return static_cast<std::int32_t>(largest);
}

AvailabilitySeries availability_of_stretches(const RecordedStretches& recorded, Duration sampling,
                                             std::uint64_t seed, const std::string& region,
                                             std::int32_t index, Duration length) {
    INVARIANT(!recorded.zones.empty() && recorded.mean >= sampling);
    const std::vector<Region> regions = regions_of(recorded);
    std::int64_t all_ticks = 0;
    for (const RecordedZone& zone : recorded.zones) all_ticks += zone.ticks;
    RandomStream random(seed, "market/" + region + "/stretches");
    RandomStream alone(seed, fmt::format("market/{}/stretches/{}", region, index));
    const double ends = to_seconds(sampling) / to_seconds(recorded.mean);  // a stretch, at a tick
    const std::int64_t end = (length.raw() + sampling.raw() - 1) / sampling.raw();
    const auto nth = static_cast<std::size_t>(index);
    SeriesBuilder<std::int32_t> builder;
    for (std::int64_t now = 0; now < end;) {
        Moment moment = drawn_moment(regions, all_ticks, random);
        const std::int64_t stretch = 1 + random.geometric(std::min(1.0, ends));
        const std::int64_t until = stretch < end - now ? now + stretch : end;
        if (nth < moment.region->size()) {
            moment.zone = (moment.zone + nth) % moment.region->size();
        } else {  // that region has no zone for it
            moment = drawn_moment(regions, all_ticks, alone);
        }
        const RecordedZone& zone = *(*moment.region)[moment.zone];
        for (Walk walk(zone, moment.tick); now < until; walk.next()) {
            builder.add(Instant::at(now * sampling), walk.held());
            now += std::min(walk.to_next(), until - now);
        }
    }
    return builder.finish(Instant::at(length));
}

}  // namespace ukemi::traces
