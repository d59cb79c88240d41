// recorded_group_test.cpp — machines that a trace names: who came, who is free, who is lost next.
#include "sim/market/recorded_group.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// a and b from zero on, c from 10 s; b goes at 20 s, a at 30 s, b comes again at 30 s.
sim::RecordedGroup three_machines() {
    const std::vector<traces::NodeEvent> events{
        {at(Duration{}), true, "a"},         {at(Duration{}), true, "b"},
        {at(whole_seconds(10)), true, "c"},  {at(whole_seconds(20)), false, "b"},
        {at(whole_seconds(30)), false, "a"}, {at(whole_seconds(30)), true, "b"}};
    return sim::recorded_group(events);
}

}  // namespace

TEST_CASE("recorded group: a name that comes again is another machine", "[market]") {
    const sim::RecordedGroup group = three_machines();
    REQUIRE(group.machines.size() == 4);
    CHECK(group.machines[1] == sim::RecordedMachine{Instant{}, at(whole_seconds(20))});
    CHECK(group.machines[3] == sim::RecordedMachine{at(whole_seconds(30)), Instant::never()});
    CHECK(group.losses == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("recorded group: who begins later has those that are left, in the same order",
          "[market]") {
    const sim::RecordedGroup rest = sim::begun_later(three_machines(), whole_seconds(20));
    REQUIRE(rest.machines.size() == 3);
    CHECK(rest.machines[0] == sim::RecordedMachine{Instant{}, at(whole_seconds(10))});
    CHECK(rest.machines[1] == sim::RecordedMachine{Instant{}, Instant::never()});
    CHECK(rest.machines[2] == sim::RecordedMachine{at(whole_seconds(10)), Instant::never()});
    CHECK(rest.losses == std::vector<std::uint32_t>{0});
    sim::RecordedGroup ended = rest;
    sim::end_all(ended, at(whole_seconds(50)));
    CHECK(ended.losses == std::vector<std::uint32_t>{0, 1, 2});
    CHECK(ended.machines[2].until == at(whole_seconds(50)));
}

TEST_CASE("recorded group: a run takes free machines in order, and none that is announced",
          "[market]") {
    const sim::RecordedGroup group = three_machines();
    sim::GroupCursor cursor(group);
    cursor.advance(Instant{});
    CHECK(cursor.free_count() == 2);
    CHECK(cursor.take_free() == 0);
    CHECK(cursor.take_free() == 1);
    cursor.advance(at(whole_seconds(10)));
    CHECK(cursor.free_count() == 1);
    CHECK(cursor.next_loss_announced(whole_seconds(5)) == at(whole_seconds(15)));
    CHECK(cursor.next_loss_announced(whole_seconds(60)) == Instant{});
    CHECK(cursor.lose_next() == 1);
    CHECK(cursor.lost_at(1) == at(whole_seconds(20)));
    cursor.give_back(1);  // gone
    cursor.give_back(0);
    CHECK(cursor.free_count() == 2);
    CHECK(cursor.lose_next() == 0);
    CHECK(cursor.free_count() == 1);
    CHECK(cursor.take_free() == 2);
    CHECK(cursor.next_loss_announced({}) == Instant::never());
}

}  // namespace ukemi
