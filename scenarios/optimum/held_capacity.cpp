#include "scenarios/optimum/held_capacity.hpp"

#include <algorithm>
#include <limits>

namespace ukemi::scenarios {

namespace {

constexpr std::int32_t levels_most = 17;

// All counts up to `most`, or some of them, evenly spread from 1.
std::vector<std::int32_t> counts_up_to(std::int32_t most) {
    std::vector<std::int32_t> counts;
    const std::int32_t levels = std::min(most, levels_most);
    for (std::int32_t level = 0; level < levels; ++level) {
        counts.push_back(1 + static_cast<std::int32_t>(std::int64_t{most} * level / levels));
    }
    return counts;
}

// A machine that is never older than what is free may be free for ever.
bool age_is_free(const sim::MarketRules& rules) {
    const records::BillingRule& spot = rules.spot_billing;
    if (rules.lifetime_max <= Duration{}) return false;
    return spot.last_part_free_if_taken || rules.lifetime_max <= spot.free_if_taken_within;
}

bool lowers_prices(const sim::MarketRules& rules, bool one_machine) {
    const records::BillingRule& spot = rules.spot_billing;
    if (rules.bidding || spot.price_at_beginning || spot.last_part_free_if_taken) return true;
    return spot.free_if_taken_within > Duration{} && (!one_machine || age_is_free(rules));
}

}  // namespace

HeldCapacity::HeldCapacity(const sim::MarketData& market, std::int32_t count_most, Instant horizon)
    : horizon_(horizon.raw()),
      notice_(market.notice.raw()),
      provisioning_(market.provisioning.raw()),
      bounds_(lowers_prices(market.rules, count_most == 1)) {
    if (!bounds_) free_before_loss_ = market.rules.spot_billing.free_if_taken_within.raw();
    std::int32_t most = 0;
    for (const sim::ZoneData& data : market.zones) {
        for (const auto& step : data.launchable.steps) most = std::max(most, step.value);
    }
    count_most_ = std::min(most, count_most);
    counts_ = counts_up_to(count_most_);
    for (const sim::ZoneData& data : market.zones) {
        zones_.push_back(zone_of(data, market));
        if (bounds_) lower_prices(zones_.back(), market);
    }
}

HeldCapacity::Zone HeldCapacity::zone_of(const sim::ZoneData& data,
                                         const sim::MarketData& market) const {
    Zone zone;
    sim::CapacityCursor capacity(data.launchable, market.after_last_row, true);
    zone.capacity.push_back({0, capacity.value()});
    while (capacity.next_at().raw() < horizon_) {
        const std::int64_t at = capacity.next_at().raw();
        capacity.advance();
        zone.capacity.push_back({at, capacity.value()});
    }
    sim::PriceCursor price(data.spot_price, market.after_last_row, false);
    zone.prices.push_back({0, price.value().raw()});
    while (price.next_at().raw() < horizon_) {
        const std::int64_t at = price.next_at().raw();
        price.advance();
        zone.prices.push_back({at, price.value().raw()});
    }
    zone.metered.push_back(0);
    for (std::size_t step = 1; step < zone.prices.size(); ++step) {
        const PriceStep& before = zone.prices[step - 1];
        zone.metered.push_back(zone.metered.back() + static_cast<Int128>(before.price) *
                                                         (zone.prices[step].at - before.at));
    }
    return zone;
}

// Prices as the least that each moment may cost. A bid of before the rise is paid for the notice
// after it, an hour at what it cost when it began; what is free if taken, is before any loss.
void HeldCapacity::lower_prices(Zone& zone, const sim::MarketData& market) const {
    const sim::MarketRules& rules = market.rules;
    const records::BillingRule& spot = rules.spot_billing;
    std::int64_t back = rules.bidding ? notice_ : 0;
    if (spot.price_at_beginning) back += spot.granularity.raw();
    std::int64_t free = spot.free_if_taken_within.raw();
    if (spot.last_part_free_if_taken) free = std::max(free, spot.granularity.raw());
    std::vector<Stay> free_times;  // from and until
    const auto lost = [&](std::int64_t announced) {
        const std::int64_t at = announced + notice_;
        if (free > 0) free_times.push_back({std::max<std::int64_t>(at - free, 0), 0, at});
    };
    for (std::size_t step = 1; step < zone.capacity.size(); ++step) {
        if (zone.capacity[step].count < zone.capacity[step - 1].count) {
            lost(zone.capacity[step].at);
        }
    }
    for (std::size_t step = 1; rules.bidding && step < zone.prices.size(); ++step) {
        if (zone.prices[step].price > zone.prices[step - 1].price) lost(zone.prices[step].at);
    }
    if (age_is_free(rules)) free_times.push_back({0, 0, horizon_});
    std::vector<std::int64_t> moments{0};
    for (const PriceStep& step : zone.prices) {
        moments.push_back(step.at);
        moments.push_back(step.at + back);
    }
    for (const Stay& one : free_times) {
        moments.push_back(one.from);
        moments.push_back(one.until);
    }
    std::erase_if(moments, [&](std::int64_t at) { return at >= horizon_; });
    std::ranges::sort(moments);
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    std::vector<PriceStep> lowered;
    for (const std::int64_t at : moments) {
        std::size_t step = step_at(zone, std::max<std::int64_t>(at - back, 0));
        std::int64_t least = zone.prices[step].price;
        while (step + 1 < zone.prices.size() && zone.prices[step + 1].at <= at) {
            least = std::min(least, zone.prices[++step].price);
        }
        lowered.push_back({at, least});
    }
    for (const Stay& one : free_times) {
        auto step = std::ranges::lower_bound(lowered, one.from, {}, &PriceStep::at);
        for (; step != lowered.end() && step->at < one.until; ++step) step->price = 0;
    }
    zone.prices = std::move(lowered);
    zone.metered.clear();
}

std::vector<Stay> HeldCapacity::stays(std::uint32_t zone, std::int32_t count) const {
    std::vector<Stay> all;
    std::int64_t since = -1;
    const auto ends = [&](std::int64_t announced, std::int64_t taken) {
        if (since < 0) return;
        const std::int64_t from = since + provisioning_;
        if (from < announced) all.push_back({from, announced, taken});
        since = -1;
    };
    for (const CapacityStep& step : zones_[zone].capacity) {
        if (step.count >= count) {
            if (since < 0) since = step.at;
        } else {
            ends(step.at, step.at + notice_);
        }
    }
    ends(horizon_, horizon_);
    for (Stay& one : all) one.until = std::min(one.until, horizon_);
    return all;
}

std::size_t HeldCapacity::step_at(const Zone& zone, std::int64_t at) const {
    const auto after = std::ranges::upper_bound(zone.prices, at, {}, &PriceStep::at);
    return static_cast<std::size_t>(after - zone.prices.begin()) - 1;
}

std::int64_t HeldCapacity::price(std::uint32_t zone, std::int64_t from, std::int64_t until) const {
    const Zone& here = zones_[zone];
    std::size_t step = step_at(here, from);
    std::int64_t least = here.prices[step].price;
    while (step + 1 < here.prices.size() && here.prices[step + 1].at < until) {
        least = std::min(least, here.prices[++step].price);
    }
    return least;
}

Int128 HeldCapacity::charge(std::uint32_t zone, std::int64_t from, std::int64_t until) const {
    const Zone& here = zones_[zone];
    const auto metered_to = [&](std::int64_t at) {
        const std::size_t step = step_at(here, at);
        return here.metered[step] +
               static_cast<Int128>(here.prices[step].price) * (at - here.prices[step].at);
    };
    return metered_to(until) - metered_to(from);
}

}  // namespace ukemi::scenarios
