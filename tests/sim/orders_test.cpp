// orders_test.cpp — from Plan and fleet to what is asked for and what is given back, by hand.
#include "sim/job/orders.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/fleet_by_hand.hpp"

namespace ukemi {

namespace {

using policies::Market;
using policies::Plan;
using Fleet = std::vector<sim::Instance>;

// The counts of the lines that are asked for.
std::vector<std::int32_t> counts(const Plan& plan, const Fleet& fleet,
                                 const std::vector<std::int32_t>& room,
                                 std::int32_t workers_min = 1) {
    std::vector<std::int32_t> all;
    for (const policies::FleetLine& one : sim::requests(plan, fleet, room, workers_min)) {
        all.push_back(one.count);
    }
    return all;
}

using Counts = std::vector<std::int32_t>;
using Ids = std::vector<std::uint32_t>;

Ids surplus(const Plan& plan, Fleet fleet) {
    sim::mark_surplus(plan, fleet);
    Ids ids;
    for (const sim::Instance& one : fleet) {
        if (one.retiring) ids.push_back(index_of(one.id));
    }
    return ids;
}

Ids numbers(const std::vector<InstanceId>& ids) {
    Ids all;
    for (const InstanceId id : ids) all.push_back(index_of(id));
    return all;
}

}  // namespace

TEST_CASE("orders: what lacks is asked for, as far as the zone gives it", "[orders]") {
    const Plan plan = plan_of({line(0, Market::spot, 4), line(1, Market::on_demand, 2)});
    constexpr std::int32_t all = 99;  // on-demand is always sold
    CHECK(counts(plan, {}, {9, all}) == Counts{4, 2});
    CHECK(counts(plan, {}, {9, 1}) == Counts{4, 1});  // but where places are told
    CHECK(counts(plan, {}, {3, all}) == Counts{3, 2});
    CHECK(counts(plan, {}, {-1, all}) == Counts{0, 2});  // the zone has taken more than it gives
    const Fleet some{member(1), asked_for(2), on_demand(member(3, 1))};
    CHECK(counts(plan, some, {9, all}) == Counts{2, 1});  // who is on its way counts
    // Another zone's, another market's and too many: none of them fills a gap elsewhere.
    const Fleet elsewhere{member(1, 1), on_demand(member(2)), member(3, 2)};
    CHECK(counts(plan, elsewhere, {9, all}) == Counts{4, 2});
    const Fleet many{member(1), member(2), member(3), member(4), member(5)};
    CHECK(counts(plan, many, {9, all}) == Counts{0, 2});
}

TEST_CASE("orders: who goes does not count as there", "[orders]") {
    Plan plan = plan_of({line(0, Market::spot, 2)});
    CHECK(counts(plan, {announced(member(1), minutes(9)), member(2)}, {9}) == Counts{1});
    CHECK(counts(plan, {retiring(member(1)), member(2)}, {9}) == Counts{1});
    sim::Instance secret = announced(member(1), minutes(9));
    secret.unannounced = true;  // nobody knows
    CHECK(counts(plan, {secret, member(2)}, {9}) == Counts{0});
    plan.replaced = {InstanceId{1}};
    CHECK(counts(plan, {member(1), member(2)}, {9}) == Counts{1});
}

TEST_CASE("orders: a gang is asked for whole or not at all", "[orders]") {
    const Plan plan = plan_of({line(0, Market::spot, 2), line(1, Market::spot, 2)});
    CHECK(counts(plan, {}, {2, 1}, 4).empty());
    CHECK(counts(plan, {}, {2, 2}, 4) == Counts{2, 2});
    CHECK(counts(plan, {member(1, 1)}, {2, 1}, 4) == Counts{2, 1});
    CHECK(counts(plan, {announced(member(1, 1), minutes(1))}, {2, 1}, 4).empty());
    // Those that the Plan does not want, but that have not left, are part of what there will be.
    CHECK(counts(plan, {member(1, 2)}, {2, 1}, 4) == Counts{2, 1});
}

TEST_CASE("orders: nothing is asked for in no market, and once in a place", "[orders]") {
    const Plan none = plan_of({line(0, Market::none, 4)});
    CHECK(counts(none, {}, {9}).empty());
    // Two lines of one place are one, with the first one's bid; they are not two halves of a gang.
    const Plan twice = plan_of({line(0, Market::spot, 2, dollars_per_hour(1)),
                                line(0, Market::spot, 1, dollars_per_hour(2))});
    const auto lines = sim::requests(twice, {}, std::vector<std::int32_t>{9, 9}, 1);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].count == 3);
    CHECK(lines[0].bid == dollars_per_hour(1));
    CHECK(counts(twice, {}, {2, 2}, 3).empty());
}

TEST_CASE("orders: members stay before those that wait, and these before requests", "[orders]") {
    const Fleet fleet{asked_for(0), newcomer(1), member(2), member(3), on_demand(member(4))};
    const auto wanted = [](std::int32_t count) { return plan_of({line(0, Market::spot, count)}); };
    CHECK(surplus(wanted(4), fleet) == Ids{4});
    CHECK(surplus(wanted(3), fleet) == Ids{0, 4});
    CHECK(surplus(wanted(2), fleet) == Ids{0, 1, 4});
    CHECK(surplus(wanted(1), fleet) == Ids{0, 1, 3, 4});  // the oldest of a kind stays
    CHECK(surplus(wanted(0), fleet) == Ids{0, 1, 2, 3, 4});
    CHECK(surplus(plan_of({line(0, Market::none, 4)}), fleet) == Ids{0, 1, 2, 3, 4});
    // Marks of before are not kept.
    CHECK(surplus(wanted(1), {retiring(member(1))}).empty());
}

TEST_CASE("orders: who is to be lost or replaced stays, but takes nobody's place", "[orders]") {
    const Fleet lost{announced(member(1), minutes(2)), member(2)};
    CHECK(surplus(plan_of({line(0, Market::spot, 1)}), lost).empty());
    CHECK(surplus(plan_of({line(1, Market::spot, 1)}), lost) == Ids{1, 2});
    Plan plan = plan_of({line(0, Market::spot, 1)});
    plan.replaced = {InstanceId{1}};
    CHECK(surplus(plan, {member(1)}).empty());
    CHECK(surplus(plan, {member(1), asked_for(2)}) == Ids{1});
}

TEST_CASE("orders: who retires leaves once others are there", "[orders]") {
    const Plan plan = plan_of({line(0, Market::spot, 2)});
    sim::GroupRules rules;
    rules.workers_min = 2;
    const auto leaving = [&](const Plan& of, const Fleet& fleet) {
        return numbers(sim::swap_of(of, fleet, rules, false).leaving);
    };
    const sim::Instance old = retiring(on_demand(member(1)));
    const sim::Instance order = retiring(asked_for(9, 1));  // calling it off costs nothing
    CHECK(leaving(plan, {old, newcomer(2), order}) == Ids{9});
    CHECK(leaving(plan, {old, newcomer(2), asked_for(3), order}) == Ids{9});
    CHECK(leaving(plan, {old, newcomer(2), newcomer(3), order}) == Ids{1, 9});
    CHECK(leaving(plan, {old, newcomer(2), newcomer(3), asked_for(4)}).empty());  // another comes
    CHECK(leaving(plan_of({line(0, Market::none, 2)}), {old, asked_for(3)}) == Ids{1});
    CHECK(leaving(plan_of({line(0, Market::spot, 0)}), {old}) == Ids{1});
    CHECK(leaving(plan, {member(1), newcomer(2)}).empty());
}

TEST_CASE("orders: the last who has the model saves it before it leaves", "[orders]") {
    const Plan plan = plan_of({line(0, Market::spot, 1)});
    const sim::Instance old = retiring(member(1));
    sim::GroupRules rules;
    CHECK(sim::swap_of(plan, Fleet{old, newcomer(2)}, rules, true).save_first);
    CHECK_FALSE(sim::swap_of(plan, Fleet{old, newcomer(2)}, rules, false).save_first);
    CHECK_FALSE(sim::swap_of(plan, Fleet{old, member(2)}, rules, true).save_first);
    CHECK_FALSE(sim::swap_of(plan, Fleet{old, asked_for(2)}, rules, true).save_first);  // not yet
    const sim::Instance without = retiring(newcomer(1));
    CHECK_FALSE(sim::swap_of(plan, Fleet{without, newcomer(2)}, rules, true).save_first);
    rules.saves_first = false;
    CHECK_FALSE(sim::swap_of(plan, Fleet{old, newcomer(2)}, rules, true).save_first);
}

TEST_CASE("orders: a model that falls together ends with the first holder that leaves",
          "[orders]") {
    const Plan plan = plan_of({line(0, Market::spot, 1)});
    const Fleet fleet{retiring(member(1)), member(2)};
    sim::GroupRules rules;
    const sim::Swap replicated = sim::swap_of(plan, fleet, rules, true);
    CHECK(replicated.group_ends);
    CHECK_FALSE(replicated.model_ends);
    rules.falls_together = true;
    const sim::Swap sharded = sim::swap_of(plan, fleet, rules, true);
    CHECK(sharded.save_first);  // who stays has only a part of it
    CHECK(sharded.model_ends);
    const sim::Swap other =
        sim::swap_of(plan, Fleet{retiring(newcomer(1)), member(2)}, rules, true);
    CHECK(numbers(other.leaving) == Ids{1});
    CHECK_FALSE((other.save_first || other.group_ends || other.model_ends));
}

TEST_CASE("orders: a bid is the line's, else the last one there, else the first line's",
          "[orders]") {
    const Price one = dollars_per_hour(1);
    const Price two = dollars_per_hour(2);
    const Plan plan = plan_of({line(0, Market::spot, 1, one)});
    CHECK(sim::standing_bid(plan, ZoneId{0}, two) == one);
    CHECK(sim::standing_bid(plan, ZoneId{1}, two) == two);
    CHECK(sim::standing_bid(plan, ZoneId{1}, Price{}) == one);
    CHECK(sim::standing_bid(plan_of({}), ZoneId{1}, Price{}) == Price{});
}

}  // namespace ukemi
