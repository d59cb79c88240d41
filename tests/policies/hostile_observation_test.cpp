// hostile_observation_test.cpp — a log may hold any Observation that can be written down: no policy
// falls over one, or turns a knob that it does not declare.
#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// As logs bound it: times to 36600 d, counts to what their type holds.
class Hostile {
public:
    explicit Hostile(std::uint64_t seed) : draw_(seed, "hostile") {}

    Observation observation(Instant now) {
        Observation seen;
        seen.now = now;
        if (draw_.chance(0.3)) seen.decision_interval = time();
        seen.deadline = Instant::at(std::max(time(), nanoseconds(1)));
        seen.samples_total = hours(48).raw();
        seen.samples_done = whole(seen.samples_total);
        seen.samples_safe = whole(most);
        if (draw_.chance(0.3)) seen.transition_remaining = time();
        seen.workers = count();
        seen.workers_min = 1;
        seen.spot_held = count();
        seen.on_demand_held = count();
        seen.spot_capacity = count();
        seen.on_demand_price = Price::of(whole(most));
        seen.spot_losses = whole(most);
        seen.spot_loss_events = whole(1'000'000'000);
        seen.spot_time = time();
        seen.gradient.noise_scale = static_cast<double>(whole(most));
        for (std::int64_t left = draw_.integer(0, 5); left > 0; --left) {
            seen.spot_since.push_back(Instant::at(time()));
        }
        for (std::int64_t left = draw_.integer(0, 4); left > 0; --left) add_zone(seen);
        return seen;
    }
    Duration time() { return nanoseconds(whole(days(36'600).raw())); }
    RandomStream& draw() { return draw_; }

private:
    static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

    // Small, large, or anything between.
    std::int64_t whole(std::int64_t limit) {
        if (draw_.chance(0.2)) return draw_.chance(0.5) ? 0 : limit;
        return draw_.integer(0, draw_.chance(0.5) ? limit : std::min<std::int64_t>(limit, 100));
    }
    std::int32_t count() {
        return static_cast<std::int32_t>(whole(std::numeric_limits<std::int32_t>::max()));
    }
    void add_zone(Observation& seen) {
        ZoneView zone;
        zone.zone = ZoneId{static_cast<std::uint32_t>(draw_.integer(0, 3))};  // maybe again
        zone.spot_capacity = count() / 8;
        zone.spot_price = Price::of(whole(most));
        zone.on_demand_price = Price::of(whole(most));
        zone.speed_per_mille = std::max(count(), 1);
        zone.move_cost = Dollars::of(draw_.chance(0.5) ? whole(most) : -whole(most));
        zone.move_time = time();
        zone.spot_held = count();
        zone.on_demand_held = count();
        zone.pending = count();
        seen.zones.push_back(zone);
    }

    RandomStream draw_;
};

}  // namespace

TEST_CASE("policies: no Observation makes one that chooses zones, bids or saves fall over",
          "[hostile][property]") {
    const std::string name =
        GENERATE(as<std::string>{}, "follow_capacity", "cheapest_zone", "spread_zones", "bid",
                 "bid quantile", "hazard_checkpoint", "hazard capped", "cheapest_region_net");
    const auto seed = GENERATE(range(1, 41));
    CAPTURE(name, seed);
    const auto policy = name == "bid quantile" ? policy_named("bid", R"({"rule": "quantile"})")
                        : name == "hazard capped"
                            ? policy_named("hazard", R"({"lifetime_cap": "36500 d"})")
                            : policy_named(name);
    Hostile hostile(static_cast<std::uint64_t>(seed));
    Situation job;
    job.profile.lossless = hostile.draw().chance(0.3);
    job.profile.checkpoint = hours(hostile.draw().integer(0, 1000));
    job.plan.workers_max = static_cast<std::int32_t>(hostile.draw().integer(1, 2'000'000'000));
    job.plan.global_batch = 1;
    Duration now;
    int answers = 0;
    for (int question = 0; question < 30; ++question) {
        const Duration pause = hostile.time();
        now += nanoseconds(pause.raw() / 40);
        job.seen = hostile.observation(Instant::at(now));
        const std::array markets{Market::none, Market::spot, Market::on_demand};
        job.plan.fleet.front().market =
            markets.at(static_cast<std::size_t>(hostile.draw().integer(0, 2)));
        const Decision decision = question == 0 ? job.ask_before_train(*policy) : job.ask(*policy);
        CHECK(policy->knobs().includes(knobs_turned(decision)));
        if (decision.ask_again_in) CHECK(*decision.ask_again_in > Duration{});
        if (decision.checkpoint_interval) CHECK(*decision.checkpoint_interval > Duration{});
        if (decision.zone_counts) {
            for (const ZoneCount& one : *decision.zone_counts) CHECK(one.count > 0);
        }
        if (decision.zone_bids) {
            for (const ZoneBid& one : *decision.zone_bids) CHECK(one.bid >= Price{});
        }
        ++answers;
    }
    CHECK(answers == 30);
}
