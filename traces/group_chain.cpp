// group_chain.cpp — losses, refills, and what may be added to them, one event at a time.
#include "traces/group_chain.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::traces {

namespace {

// Short or long waits of one kind, in whole steps of the sampling.
std::int64_t draw_ticks(RandomStream& random, double hours_mean, Duration sampling) {
    const double ticks = random.exponential(hours_mean) / to_hours(sampling);
    return std::max<std::int64_t>(1, round_up(std::min(ticks, 1e9)));
}
std::int64_t draw_ticks(RandomStream& random, const ShortOrLong& wait, Duration sampling) {
    const bool is_short = random.chance(wait.short_share);
    return draw_ticks(random, is_short ? wait.short_h_mean : wait.long_h_mean, sampling);
}

}  // namespace

DailyClock::DailyClock(const DailyCycle& cycle, Duration sampling, std::int64_t midnight)
    : is_on_(cycle.depth > 0), sampling_(sampling), midnight_(midnight) {
    INVARIANT(cycle.depth >= 0 && cycle.depth <= 0.9);
    constexpr double pi = 3.14159265358979323846;
    for (std::size_t hour = 0; hour < 24; ++hour) {
        const double from_worst = static_cast<double>(hour) + 0.5 - cycle.worst_hour_utc;
        often_[hour] = 1 + cycle.depth * exact::sin(pi / 12 * from_worst + pi / 2);
        seldom_[hour] = 1 / often_[hour];
    }
}

// The place in the day is a whole number of nanoseconds: hours end where they should, whether a
// tick does or not, and each turn of the loop moves on.
std::int64_t DailyClock::ticks(std::int64_t now, std::int64_t average, bool often) const {
    if (!is_on_) return average;
    const std::array<double, 24>& rates = often ? often_ : seldom_;
    constexpr std::int64_t hour_ns = hours(1).raw();
    constexpr std::int64_t day_ns = days(1).raw();
    const Int128 wanted = static_cast<Int128>(average) * sampling_.raw();
    auto left = static_cast<double>(static_cast<std::int64_t>(wanted % day_ns));
    Int128 passed = wanted - wanted % day_ns;
    const Int128 since_midnight = static_cast<Int128>(now - midnight_) * sampling_.raw();
    auto place = static_cast<std::int64_t>(since_midnight % day_ns);
    if (place < 0) place += day_ns;
    for (;;) {
        const double rate = rates[static_cast<std::size_t>(place / hour_ns)];
        const std::int64_t to_next = hour_ns - place % hour_ns;
        const double in_this_hour = static_cast<double>(to_next) * rate;
        if (left <= in_this_hour) {
            passed += round_up(left / rate);
            const Int128 whole = (passed + sampling_.raw() - 1) / sampling_.raw();
            return std::max<std::int64_t>(1, static_cast<std::int64_t>(whole));
        }
        left -= in_this_hour;
        passed += to_next;
        place = (place + to_next) % day_ns;
    }
}

GroupChain::GroupChain(const MarketParameters& parameters, std::uint64_t seed,
                       const std::string& zone, const std::string& region, std::int64_t midnight)
    : parameters_(parameters),
      random_(seed, "market/" + zone),
      clock_(parameters.daily, parameters.sampling, midnight),
      held_(parameters.capacity),
      region_random_(seed, "market/" + region + "/shared"),
      hit_random_(seed, "market/" + zone + "/shared"),
      life_random_(seed, "market/" + zone + "/lifetimes") {
    next_loss_ = quiet(0, false);
    if (parameters.shared.per_day > 0 && parameters.shared.zones_per_region > 1) {
        draw_next_shared(0);
    }
    add_lives(0, held_);
}

std::int64_t GroupChain::next_tick() const {
    return std::min({next_loss_, next_refill_, next_shared_, next_death()});
}

void GroupChain::advance() {
    const std::int64_t now = next_tick();
    if (now == next_shared_) {
        const std::int64_t together = shared_outage_;
        draw_next_shared(now);
        // Drawn whether anything is held or not: the moments are the region's.
        const bool hit = hit_random_.chance(parameters_.shared.hit_share);
        if (hit && held_ > 0) lose(now, burst_size(), clock_.ticks(now, together, false));
    } else if (now == next_death()) {
        deaths_.pop_back();
        held_ -= 1;
        if (held_ == 0) next_loss_ = never;
        if (next_refill_ == never) {
            next_refill_ = now + outage(now, life_random_);
        }
    } else if (next_loss_ <= next_refill_) {
        const std::int32_t count = burst_size();
        lose(now, count, outage(now, random_));
    } else {
        refill(now);
    }
}

std::int64_t GroupChain::quiet(std::int64_t now, bool after_none) {
    const ShortOrLong& wait = after_none && parameters_.quiet_after_none
                                  ? *parameters_.quiet_after_none
                                  : parameters_.quiet;
    return clock_.ticks(now, draw_ticks(random_, wait, parameters_.sampling), true);
}

std::int64_t GroupChain::outage(std::int64_t now, RandomStream& random) {
    return clock_.ticks(now, draw_ticks(random, parameters_.outage, parameters_.sampling), false);
}

void GroupChain::lose(std::int64_t now, std::int32_t count, std::int64_t outage_ticks) {
    held_ -= count;
    take_lives(count);
    next_refill_ = now + outage_ticks;
    next_loss_ = held_ > 0 ? now + quiet(now, false) : never;
}

std::int32_t GroupChain::burst_size() {
    if (random_.chance(parameters_.total_loss_share) || held_ == 1) return held_;
    const double size = random_.exponential(parameters_.burst_share_mean * held_);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(round_nearest(size), 1, held_ - 1));
}

void GroupChain::refill(std::int64_t now) {
    const std::int32_t missing = parameters_.capacity - held_;
    const bool all = random_.chance(parameters_.full_refill_share);
    const std::int64_t step =
        all ? missing : 1 + random_.geometric(1 / parameters_.refill_step_mean);
    if (held_ == 0) next_loss_ = now + quiet(now, true);
    const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(step, missing));
    held_ += count;
    add_lives(now, count);
    next_refill_ =
        held_ < parameters_.capacity
            ? now + draw_ticks(random_, parameters_.refill_gap_h_mean, parameters_.sampling)
            : never;
}

void GroupChain::draw_next_shared(std::int64_t now) {
    next_shared_ =
        now + draw_ticks(region_random_, 24 / parameters_.shared.per_day, parameters_.sampling);
    ShortOrLong longer = parameters_.outage;
    longer.short_h_mean *= parameters_.shared.outage_factor;
    longer.long_h_mean *= parameters_.shared.outage_factor;
    shared_outage_ = draw_ticks(region_random_, longer, parameters_.sampling);
}

void GroupChain::add_lives(std::int64_t now, std::int32_t count) {
    if (!parameters_.lifetimes.is_on()) return;
    for (std::int32_t i = 0; i < count; ++i) {
        const Duration life = draw_lifetime(parameters_.lifetimes, life_random_);
        const std::int64_t ticks = std::max<std::int64_t>(
            1, (life.raw() + parameters_.sampling.raw() - 1) / parameters_.sampling.raw());
        const auto place =
            std::upper_bound(deaths_.begin(), deaths_.end(), now + ticks, std::greater<>{});
        deaths_.insert(place, now + ticks);
    }
}

// A burst does not ask how old anybody is.
void GroupChain::take_lives(std::int32_t count) {
    if (!parameters_.lifetimes.is_on()) return;
    for (std::int32_t i = 0; i < count; ++i) {
        const std::int64_t victim = life_random_.integer(0, std::ssize(deaths_) - 1);
        deaths_.erase(deaths_.begin() + static_cast<std::ptrdiff_t>(victim));
    }
}

}  // namespace ukemi::traces
