// group_chain.hpp — how many instances of one zone can be held: the chain behind the generator.
//
// Time is counted in ticks of the sampling, from the beginning of the burn-in. The chain draws from
// "market/<zone>"; shared losses from "market/<region>/shared" and "market/<zone>/shared", and
// lifetimes from "market/<zone>/lifetimes", so that switching them on changes no other draw.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "traces/generator.hpp"

namespace ukemi::traces {

// How much faster than on average something happens, by the hour of the day.
class DailyClock {
public:
    // `midnight`: a tick that is one.
    DailyClock(const DailyCycle& cycle, Duration sampling, std::int64_t midnight);

    // How many ticks pass from `now` until as much has happened as on average in `average` ticks.
    // `often`: more happens at the worst hour (losses), else less (the end of an outage).
    std::int64_t ticks(std::int64_t now, std::int64_t average, bool often) const;

private:
    bool is_on_;
    Duration sampling_;
    std::int64_t midnight_;
    std::array<double, 24> often_{};
    std::array<double, 24> seldom_{};
};

class GroupChain {
public:
    // `parameters` must outlive the chain.
    GroupChain(const MarketParameters& parameters, std::uint64_t seed, const std::string& zone,
               const std::string& region, std::int64_t midnight);

    std::int64_t next_tick() const;  // when the group may change next
    std::int32_t held() const { return held_; }
    void advance();  // to that tick

private:
    static constexpr std::int64_t never = std::int64_t{1} << 62;

    std::int64_t quiet(std::int64_t now, bool after_none);
    std::int64_t outage(std::int64_t now, RandomStream& random);
    void lose(std::int64_t now, std::int32_t count, std::int64_t outage_ticks);
    std::int32_t burst_size();
    void refill(std::int64_t now);
    void draw_next_shared(std::int64_t now);
    void add_lives(std::int64_t now, std::int32_t count);
    void take_lives(std::int32_t count);
    std::int64_t next_death() const { return deaths_.empty() ? never : deaths_.back(); }

    const MarketParameters& parameters_;
    RandomStream random_;
    DailyClock clock_;
    std::int32_t held_;
    std::int64_t next_loss_ = never;
    std::int64_t next_refill_ = never;

    RandomStream region_random_;
    RandomStream hit_random_;
    std::int64_t next_shared_ = never;
    std::int64_t shared_outage_ = 0;  // of the next shared moment, in ticks

    RandomStream life_random_;
    std::vector<std::int64_t> deaths_;  // of those held; the soonest last
};

}  // namespace ukemi::traces
