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
    Walk(const RecordedZone& zone, std::int64_t place_s) : zone_(zone) {
        const std::int64_t into_s = (place_s - zone.begins_s) % zone.length_s;
        at_s_ = into_s < 0 ? into_s + zone.length_s : into_s;
        const auto after = std::ranges::upper_bound(zone.at_s, at_s_);
        step_ = static_cast<std::size_t>(after - zone.at_s.begin()) - 1;
    }
    std::int32_t held() const { return zone_.held[step_]; }
    std::int64_t to_next_s() const {
        return (step_ + 1 < zone_.at_s.size() ? zone_.at_s[step_ + 1] : zone_.length_s) - at_s_;
    }
    void next() {
        step_ = step_ + 1 < zone_.at_s.size() ? step_ + 1 : 0;
        at_s_ = zone_.at_s[step_];
    }

private:
    const RecordedZone& zone_;
    std::int64_t at_s_ = 0;
    std::size_t step_ = 0;
};

// A second of the region's, in proportion to what each of its zones recorded.
std::int64_t drawn_place_s(const Region& region, RandomStream& random) {
    std::int64_t all_s = 0;
    for (const RecordedZone* zone : region) all_s += zone->length_s;
    std::int64_t left_s = random.integer(0, all_s - 1);
    for (const RecordedZone* zone : region) {
        if (left_s < zone->length_s) return zone->begins_s + left_s;
        left_s -= zone->length_s;
    }
    INVARIANT(false);
    return 0;
}

template <class Items>
void shuffle(Items& items, RandomStream& random) {
    for (std::size_t left = items.size(); left > 1; --left) {
        const std::int64_t chosen = random.integer(0, static_cast<std::int64_t>(left) - 1);
        std::swap(items[left - 1], items[static_cast<std::size_t>(chosen)]);
    }
}

// What a generated zone is made of.
struct Source {
    Region region;
    const RecordedZone* zone = nullptr;
    std::int32_t nth_region = 1;  // of those generated
    std::int32_t nth_zone = 0;    // of its region
};
Source source_of(const RecordedStretches& recorded, std::uint64_t seed, std::int32_t index) {
    std::vector<Region> regions = regions_of(recorded);
    const auto zones = static_cast<std::int32_t>(recorded.zones.size());
    const std::int32_t round = index / zones;
    RandomStream random(seed, fmt::format("market/stretches/round/{}", round));
    shuffle(regions, random);
    for (Region& region : regions) shuffle(region, random);
    std::int32_t nth_region = round * static_cast<std::int32_t>(regions.size());
    std::int32_t left = index % zones;
    for (const Region& region : regions) {
        ++nth_region;
        const auto size = static_cast<std::int32_t>(region.size());
        if (left < size) {
            return {region, region[static_cast<std::size_t>(left)], nth_region, left};
        }
        left -= size;
    }
    INVARIANT(false);
    return {};
}

}  // namespace

std::vector<RecordedZone> recorded_zones(std::span<const TraceSeries> series) {
    const std::int64_t second = whole_seconds(1).raw();
    std::vector<RecordedZone> zones;
    std::map<std::string, std::int64_t, std::less<>> first_s;  // of each region, since 1970
    for (const TraceSeries& one : series) {
        if (!one.availability || one.availability->end == Instant{}) continue;
        RecordedZone zone{one.zone, 0, 1, {}, {}};
        const auto seconds_of = [&](Instant at) { return at.since_start().raw() / second; };
        zone.length_s = std::max<std::int64_t>(1, seconds_of(one.availability->end));
        for (const auto& step : one.availability->steps) {
            const std::int64_t at_s = seconds_of(step.at);
            if (at_s >= zone.length_s) break;
            if (!zone.at_s.empty() && zone.at_s.back() == at_s) {
                zone.held.back() = step.value;
                continue;
            }
            zone.at_s.push_back(at_s);
            zone.held.push_back(step.value);
        }
        zone.begins_s = parse_timestamp(one.start).value_or(0) / second;
        const auto [known, is_new] =
            first_s.try_emplace(std::string(region_of_zone(one.zone)), zone.begins_s);
        if (!is_new) known->second = std::min(known->second, zone.begins_s);
        zones.push_back(std::move(zone));
    }
    for (RecordedZone& zone : zones) {
        zone.begins_s -= first_s.find(region_of_zone(zone.zone))->second;
    }
    return zones;
}

TraceSeries zone_of_stretches(const RecordedStretches& recorded, std::uint64_t seed,
                              std::int32_t index, Duration length) {
    const Duration second = whole_seconds(1);
    INVARIANT(!recorded.zones.empty() && recorded.mean >= second);
    const Source source = source_of(recorded, seed, index);
    const std::string region = fmt::format("region-{}", source.nth_region);
    RandomStream random(seed, "market/" + region + "/stretches");
    const double ends = 1 / to_seconds(recorded.mean);  // a stretch, in a second
    const std::int64_t end_s = (length.raw() + second.raw() - 1) / second.raw();
    SeriesBuilder<std::int32_t> builder;
    for (std::int64_t now_s = 0; now_s < end_s;) {
        const std::int64_t place_s = drawn_place_s(source.region, random);
        const std::int64_t stretch_s = 1 + random.geometric(ends);
        const std::int64_t until_s = stretch_s < end_s - now_s ? now_s + stretch_s : end_s;
        for (Walk walk(*source.zone, place_s); now_s < until_s; walk.next()) {
            builder.add(Instant::at(now_s * second), walk.held());
            now_s += std::min(walk.to_next_s(), until_s - now_s);
        }
    }
    TraceSeries series;
    series.zone = region + zone_letters(source.nth_zone);
    series.availability = builder.finish(Instant::at(length));
    return series;
}

}  // namespace ukemi::traces
