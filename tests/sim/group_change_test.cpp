// group_change_test.cpp — the model's way to a group and the phases of a change, by hand.
#include "sim/job/group_change.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/fleet_by_hand.hpp"

namespace ukemi {

namespace {

using policies::TransitionPhase;

// Zones 0 and 1 are in one region, 2 and 3 in regions of their own. A move of 1 GB takes 10 s from
// region to region and costs a dollar; from c to d it takes 1 s and costs two.
sim::MarketData three_regions() {
    sim::MarketData data;
    for (const auto& [name, region] :
         {std::pair{"a1", "a"}, std::pair{"a2", "a"}, std::pair{"c1", "c"}, std::pair{"d1", "d"}}) {
        sim::ZoneData& zone_data = data.zones.emplace_back();
        zone_data.name = name;
        zone_data.region = region;
    }
    data.transfer.size = Bytes::of(1'000'000'000);
    data.transfer.rows = {{"c", "d", EgressPrice::of(2), BytesPerSecond::of(1e9), false},
                          {"*", "*", EgressPrice::of(1), BytesPerSecond::of(1e8), true}};
    return data;
}

Duration time_in(const records::PhaseTimes& times, TransitionPhase phase) {
    return times[static_cast<std::size_t>(phase)];
}

}  // namespace

TEST_CASE("group change: the model comes from the cheapest place that has it", "[group]") {
    const sim::MarketData data = three_regions();
    using Fleet = std::vector<sim::Instance>;
    const sim::Move cheap = sim::move_between(data, ZoneId{0}, ZoneId{3});
    const sim::Move fast = sim::move_between(data, ZoneId{2}, ZoneId{3});
    REQUIRE(cheap.cost < fast.cost);
    REQUIRE(cheap.time > fast.time);
    const Fleet both{member(1, 2), member(2, 0)};
    CHECK(sim::move_to(data, both, std::nullopt, ZoneId{3}) == cheap);
    CHECK(sim::move_to(data, both, std::nullopt, ZoneId{1}) == sim::Move{});  // it is there
    CHECK(sim::place_of_model(both) == ZoneId{2});
    // Without a copy it comes from where it is kept; and if it is nowhere, there is nothing to
    // move.
    const Fleet nobody{newcomer(1, 0)};
    CHECK(sim::move_to(data, nobody, ZoneId{2}, ZoneId{3}) == fast);
    CHECK(sim::move_to(data, both, ZoneId{3}, ZoneId{3}) == cheap);  // what is kept is older
    CHECK(sim::move_to(data, nobody, std::nullopt, ZoneId{3}) == sim::Move{});
    CHECK_FALSE(sim::place_of_model(nobody));
    sim::MarketData free = data;
    free.transfer.rows.clear();
    CHECK(sim::move_to(free, both, std::nullopt, ZoneId{3}) == sim::Move{});
}

TEST_CASE("group change: the model goes to each region once, and to all at a time", "[group]") {
    const sim::MarketData data = three_regions();
    std::vector<sim::Instance> fleet{member(1, 2), newcomer(2, 0), newcomer(3, 1), newcomer(4, 3)};
    std::vector<sim::Instance*> group;
    for (sim::Instance& one : fleet) group.push_back(&one);
    const sim::Move to_a = sim::move_between(data, ZoneId{2}, ZoneId{0});
    const sim::Move to_d = sim::move_between(data, ZoneId{2}, ZoneId{3});
    const sim::Move all = sim::move_of(data, fleet, std::nullopt, group);
    CHECK(all.cost == to_a.cost + to_d.cost);
    CHECK(all.time == std::max(to_a.time, to_d.time));
}

TEST_CASE("group change: a machine is as fast as its zone and itself", "[group]") {
    sim::MarketData data = three_regions();
    data.zones[1].speed_per_mille = 500;
    sim::Instance slow = member(1, 1);
    CHECK(sim::speed_there(data, member(1, 0)) == 1000);
    CHECK(sim::speed_there(data, slow) == 500);
    slow.speed_per_mille = 500;
    CHECK(sim::speed_there(data, slow) == 250);
    slow.speed_per_mille = 1;
    CHECK(sim::speed_there(data, slow) == 1);  // it stands still never
}

TEST_CASE("group change: a start, a growth and a shrinking have their own costs", "[group]") {
    sim::JobSpec job;
    job.profile.lossless = false;
    job.profile.restart = whole_seconds(30);
    job.profile.resize = whole_seconds(7);
    job.profile.restore = whole_seconds(4);
    const auto time_of = [&](const sim::Formation& formation, TransitionPhase phase) {
        return time_in(sim::formation_times(job.change_costs(), job.profile, formation), phase);
    };
    const sim::Formation start{4, 0, false, true, whole_seconds(2)};
    const sim::Formation grow{4, 2, true, true, {}};
    const sim::Formation shrink{4, 4, true, true, {}};
    SECTION("a profile knows two numbers") {
        CHECK(time_of(start, TransitionPhase::rendezvous) == whole_seconds(30));
        CHECK(time_of(grow, TransitionPhase::rendezvous) == whole_seconds(7));
    }
    SECTION("a table knows each phase") {
        job.transition = sim::TransitionCosts{};
        for (std::size_t change = 0; change < sim::group_change_count; ++change) {
            job.transition->changes[change].warm_up = {
                {1, whole_seconds(static_cast<std::int64_t>(change) + 1)}};
        }
        CHECK(time_of(start, TransitionPhase::warm_up) == whole_seconds(1));
        CHECK(time_of(grow, TransitionPhase::warm_up) == whole_seconds(2));
        CHECK(time_of(shrink, TransitionPhase::warm_up) == whole_seconds(3));
    }
    // In both: what is restored is restored where nobody has the model, and it is moved first.
    CHECK(time_of(start, TransitionPhase::transfer) == whole_seconds(6));
    CHECK(time_of(grow, TransitionPhase::transfer) == Duration{});
    CHECK(time_of({4, 0, false, false, {}}, TransitionPhase::transfer) == Duration{});
    job.profile.lossless = true;
    CHECK(time_of(start, TransitionPhase::transfer) == whole_seconds(2));
}

TEST_CASE("group change: drains, spawns and notices are counted beside transitions", "[group]") {
    const auto second = [](std::int64_t number) { return Instant::at(whole_seconds(number)); };
    sim::PhaseMeter meter;
    const auto cost = [&](TransitionPhase phase) {
        records::PhaseCosts of_transitions{};
        of_transitions[static_cast<std::size_t>(phase)] = {1, whole_seconds(1), whole_seconds(2)};
        return records::cost_of(meter.with(of_transitions), phase);
    };
    meter.drain_ended(second(9));  // there is none
    CHECK(cost(TransitionPhase::drain) ==
          records::PhaseCost{1, whole_seconds(1), whole_seconds(2)});
    meter.drain_began(3, second(10));
    CHECK(meter.draining());
    meter.drain_ended(second(15));
    CHECK_FALSE(meter.draining());
    CHECK(cost(TransitionPhase::drain) ==
          records::PhaseCost{2, whole_seconds(6), whole_seconds(17)});
    sim::Instance one = announced(newcomer(1), whole_seconds(100));
    one.spawning_since = second(20);
    meter.spawn_ended(one, second(26));
    CHECK(cost(TransitionPhase::spawn) ==
          records::PhaseCost{2, whole_seconds(1), whole_seconds(8)});
    meter.notice_ended(one, whole_seconds(30), second(90));  // announced at 70
    one.opened = second(85);
    meter.notice_ended(one, whole_seconds(30), second(90));  // known since it was there
    CHECK(cost(TransitionPhase::notice) ==
          records::PhaseCost{3, whole_seconds(1), whole_seconds(27)});
}

}  // namespace ukemi
