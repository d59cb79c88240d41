#include "sim/market/market.hpp"

#include <algorithm>

namespace ukemi::sim {

namespace {

// The least value of the capacity in [from, to], walked from a cursor at or before `from`.
std::int32_t least(CapacityCursor cursor, Instant to) {
    std::int32_t value = cursor.value();
    while (cursor.next_at() <= to) {
        cursor.advance();
        value = std::min(value, cursor.value());
    }
    return value;
}

}  // namespace

traces::AvailabilitySeries announced(const traces::AvailabilitySeries& capacity, Duration notice,
                                     AfterLastRow after_last_row) {
    if (notice <= Duration{}) return capacity;
    // What is seen at the end of a series that ends or repeats is no part of it; one that holds is
    // seen from its end on as its last row has it.
    const auto counts = [&](Instant at) {
        return at < capacity.end || after_last_row == AfterLastRow::hold;
    };
    // The value can only change where the capacity does, or `notice` before that.
    std::vector<Instant> moments{Instant{}};
    CapacityCursor changes(capacity, after_last_row, true);
    const Instant horizon = capacity.end + notice;
    for (; changes.next_at() < horizon; changes.advance()) {
        const Instant at = changes.next_at();
        if (counts(at)) moments.push_back(at);
        if (at.since_start() > notice && counts(at - notice)) moments.push_back(at - notice);
    }
    std::ranges::sort(moments);

    traces::AvailabilitySeries result;
    result.end = capacity.end;
    CapacityCursor here(capacity, after_last_row, true);
    for (const Instant at : moments) {
        while (here.next_at() <= at) here.advance();
        const std::int32_t value = least(here, at + notice);
        if (result.steps.empty() || result.steps.back().value != value) {
            result.steps.push_back({at, value});
        }
    }
    return result;
}

void prepare(MarketData& data) {
    for (ZoneData& zone : data.zones) {
        zone.launchable = announced(zone.capacity, data.notice, data.after_last_row);
    }
}

bool loses_between_ticks(const MarketData& data, Duration tick) {
    if (tick == Duration{}) return false;
    if (data.rules.lifetime_max > Duration{}) return true;
    const auto has_some = [&](const auto& series) {
        const auto between = [&](Instant at) { return at.since_start().raw() % tick.raw() != 0; };
        const bool ends = data.after_last_row != AfterLastRow::hold;
        return (ends && between(series.end)) ||
               std::ranges::any_of(series.steps,
                                   [&](const auto& step) { return between(step.at); });
    };
    return std::ranges::any_of(data.zones, [&](const ZoneData& zone) {
        return !zone.machines.empty() || has_some(zone.capacity) ||
               (data.rules.bidding && has_some(zone.spot_price));
    });
}

Move move_between(const MarketData& data, ZoneId from, ZoneId to) {
    if (from == to || data.transfer.rows.empty()) return {};
    const auto region = [&](ZoneId id) -> std::string_view {
        const ZoneData& zone = data.zones[ukemi::index_of(id)];
        return zone.region.empty() ? zone.name : zone.region;
    };
    return move_between(data.transfer, region(from), region(to));
}

SpotMarket::SpotMarket(const MarketData& data) : data_(&data) {
    zones_.reserve(data.zones.size());
    for (const ZoneData& zone : data.zones) {
        zones_.push_back({CapacityCursor(zone.launchable, data.after_last_row, true),
                          {},
                          PriceCursor(zone.spot_price, data.after_last_row, false),
                          {},
                          {},
                          {}});
    }
}

void SpotMarket::meter(ZoneId zone, Instant now) {
    Zone& one = at(zone);
    one.metered.add(spot_price(zone), now - one.metered_to);
    one.metered_to = now;
}

void SpotMarket::advance_price(ZoneId zone, Instant now) {
    meter(zone, now);
    at(zone).price.advance();
}

void SpotMarket::tell_price(ZoneId zone, Price price, Instant now) {
    meter(zone, now);
    at(zone).told_price = price;
}

Charge SpotMarket::spot_meter(ZoneId zone, Instant now) const {
    const Zone& one = at(zone);
    Charge charge = one.metered;
    charge.add(spot_price(zone), now - one.metered_to);
    return charge;
}

Duration MarketOracle::spot_time(Instant from, Instant to, std::int32_t count) const {
    std::vector<CapacityCursor> cursors;
    for (const ZoneData& zone : data_->zones) {
        cursors.emplace_back(zone.capacity, data_->after_last_row, true);
    }
    Duration enough;
    Instant now;
    while (now < to) {
        std::int64_t capacity = 0;
        Instant next = to;
        for (const CapacityCursor& cursor : cursors) {
            capacity += cursor.value();
            next = std::min(next, cursor.next_at());
        }
        if (capacity >= count && next > from) enough += next - std::max(now, from);
        now = next;
        for (CapacityCursor& cursor : cursors) {
            while (cursor.next_at() <= now) cursor.advance();
        }
    }
    return enough;
}

}  // namespace ukemi::sim
