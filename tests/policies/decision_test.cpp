// decision_test.cpp — how each field of a Decision changes a Plan, and which knobs it turns.
#include "policies/decision.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <utility>

#include "base/rng.hpp"
#include "tests/policies/plan_values.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

FleetLine line(std::uint32_t zone, std::int32_t count, Market market = Market::spot,
               std::uint16_t type = 0) {
    return {ZoneId{zone}, type, market, count, Price::of(5)};
}

Plan plan_of(std::vector<FleetLine> fleet) {
    Plan plan;
    plan.version = PlanVersion{3};
    plan.fleet = std::move(fleet);
    return plan;
}

std::vector<std::int32_t> counts(const Plan& plan) {
    std::vector<std::int32_t> result;
    for (const FleetLine& each : plan.fleet) result.push_back(each.count);
    return result;
}

// What the decision makes of the plan; checks that it turned just these knobs.
Plan changed(Plan plan, const Decision& decision, KnobSet knobs) {
    CHECK(knobs_turned(decision) == knobs);
    apply(decision, plan);
    return plan;
}

}  // namespace

TEST_CASE("decision: an empty one changes nothing", "[decision]") {
    Decision nothing;
    nothing.ask_again_in = minutes(1);
    nothing.reason = "only a reason";
    const Plan plan = plan_of({line(0, 2)});
    CHECK(changed(plan, nothing, {}) == plan);
}

TEST_CASE("decision: each field of training changes its own field of the Plan", "[decision]") {
    const Plan plan = plan_of({line(0, 2)});
    for_each_line(plan_fields, [&](const auto& field) {
        CAPTURE(field.key);
        const auto wanted = another(plan.*field.planned);
        CHECK(field.possible(wanted));
        Decision decision;
        decision.*field.decided = wanted;
        Plan expected = plan;
        expected.*field.planned = wanted;
        CHECK(changed(plan, decision, field.knobs) == expected);
        CHECK(restarted_by(plan, expected) == field.restarted);
    });
}

TEST_CASE("plan fields: each line has a key and members of its own", "[decision]") {
    std::set<std::string_view> keys;
    std::set<const void*> members;
    const Plan plan;
    const Decision decision;
    for_each_line(plan_fields, [&](const auto& field) { members.insert(&(plan.*field.planned)); });
    for_each_line(decision_fields, [&](const auto& field) {
        keys.insert(field.key);
        members.insert(&(decision.*field.decided));
    });
    CHECK(keys.size() == line_count(decision_fields));
    CHECK(members.size() == line_count(plan_fields) + line_count(decision_fields));
}

TEST_CASE("plan fields: what a change restarts", "[decision]") {
    const auto restarts = [](Restarted what) {
        std::vector<std::string_view> keys;
        for_each_line(plan_fields, [&](const auto& field) {
            if (field.restarted == what) keys.emplace_back(field.key);
        });
        return keys;
    };
    using Keys = std::vector<std::string_view>;
    CHECK(restarts(Restarted::nothing) ==
          Keys{"workers_max", "layout", "checkpoint_on_notice", "replaced"});
    CHECK(restarts(Restarted::segment) == Keys{"checkpoint_interval_ns", "collective", "tree"});
    Plan after = plan_of({line(0, 2)});
    after.collective = Collective::ring;
    after.codec = Codec::qsgd;
    CHECK(restarted_by(plan_of({line(0, 9)}), after) == Restarted::training);  // the most
    CHECK(restarted_by(after, after) == Restarted::nothing);
}

TEST_CASE("decision: market and bid are those of every line", "[decision]") {
    Decision decision;
    decision.market = Market::none;
    decision.bid = Price::of(9);
    const Plan plan =
        changed(plan_of({line(0, 2), line(1, 3)}), decision, {Knob::market, Knob::bid});
    for (const FleetLine& each : plan.fleet) {
        CHECK(each.market == Market::none);
        CHECK(each.bid == Price::of(9));
    }
    CHECK(counts(plan) == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("decision: a count is spread in the old proportions by largest remainder", "[decision]") {
    const auto spread = [](std::vector<FleetLine> fleet, std::int32_t count) {
        Decision decision;
        decision.count = count;
        return counts(changed(plan_of(std::move(fleet)), decision, {Knob::count}));
    };
    using Counts = std::vector<std::int32_t>;
    CHECK(spread({line(0, 2), line(1, 6)}, 12) == Counts{3, 9});
    // 10 of (1, 2, 4)/7: 1.43, 2.86, 5.71; the two left go to .86 and .71.
    CHECK(spread({line(0, 1), line(1, 2), line(2, 4)}, 10) == Counts{1, 3, 6});
    CHECK(spread({line(0, 1), line(1, 1), line(2, 1)}, 2) == Counts{1, 1, 0});  // ties: the first
    CHECK(spread({line(0, 3), line(1, 1)}, 0) == Counts{0, 0});
    CHECK(spread({line(0, 0), line(1, 0)}, 5) == Counts{5, 0});  // nothing to go by
    CHECK(spread({}, 5) == Counts{});
}

TEST_CASE("decision: spreading gives out exactly the count", "[decision][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 51U));
    CAPTURE(seed);
    RandomStream random(seed, "test/spread");
    std::vector<FleetLine> fleet;
    for (std::uint32_t zone = 0; zone < 1 + seed % 7; ++zone) {
        fleet.push_back(line(zone, static_cast<std::int32_t>(random.integer(0, 50))));
    }
    const Plan before = plan_of(fleet);
    Decision decision;
    decision.count = static_cast<std::int32_t>(random.integer(0, 500));
    Plan after = before;
    apply(decision, after);
    CHECK(fleet_count(after) == *decision.count);
    const double scale = fleet_count(before) == 0 ? 0 : 1.0 * *decision.count / fleet_count(before);
    for (std::size_t i = 0; i < fleet.size() && scale > 0; ++i) {
        CHECK(after.fleet[i].count == Approx(fleet[i].count * scale).margin(1));
    }
}

TEST_CASE("decision: zone_counts keeps the rest of the first line and sorts by zone",
          "[decision]") {
    Decision decision;
    decision.zone_counts = {{ZoneId{2}, 5}, {ZoneId{0}, 1}};
    const Plan plan = changed(plan_of({line(1, 2, Market::on_demand, 3), line(4, 9)}), decision,
                              {Knob::zone, Knob::count});
    CHECK(plan.fleet == std::vector<FleetLine>{line(0, 1, Market::on_demand, 3),
                                               line(2, 5, Market::on_demand, 3)});
    CHECK(plan.version == PlanVersion{3});
}

TEST_CASE("decision: market_counts makes the list anew, sorted by zone and market", "[decision]") {
    Decision decision;
    decision.market_counts = {{ZoneId{1}, Market::spot, 1},
                              {ZoneId{0}, Market::on_demand, 2},
                              {ZoneId{0}, Market::spot, 3}};
    const Plan plan = changed(plan_of({line(0, 9, Market::spot, 1)}), decision,
                              {Knob::zone, Knob::market, Knob::count});
    CHECK(plan.fleet == std::vector<FleetLine>{line(0, 3, Market::spot, 1),
                                               line(0, 2, Market::on_demand, 1),
                                               line(1, 1, Market::spot, 1)});
}

TEST_CASE("decision: repeats the market if it asks for that alone and every line has it",
          "[decision]") {
    const Plan spot = plan_of({line(0, 2), line(1, 0)});
    const Plan mixed = plan_of({line(0, 2), line(1, 1, Market::on_demand)});
    Decision decision;
    CHECK_FALSE(repeats_market(decision, spot));  // asks for nothing
    decision.market = Market::spot;
    decision.ask_again_in = minutes(1);
    CHECK(repeats_market(decision, spot));
    CHECK_FALSE(repeats_market(decision, mixed));
    decision.bid = Price::of(5);
    CHECK_FALSE(repeats_market(decision, spot));
}

TEST_CASE("knob set: a set of knobs", "[plan]") {
    const KnobSet both = KnobSet{Knob::zone} | KnobSet{Knob::codec};
    CHECK(both.has(Knob::zone));
    CHECK_FALSE(both.has(Knob::market));
    CHECK(both.includes({Knob::codec}));
    CHECK_FALSE(KnobSet{Knob::codec}.includes(both));
    CHECK((both & KnobSet{Knob::codec, Knob::bid}) == KnobSet{Knob::codec});
    CHECK((both & KnobSet{Knob::bid}).empty());
    for (std::size_t i = 0; i < knob_count; ++i) CHECK_FALSE(knob_names()[i].empty());
}
