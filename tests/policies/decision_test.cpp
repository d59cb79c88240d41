// decision_test.cpp — how each field of a Decision changes a Plan, and which knobs it turns.
#include "policies/decision.hpp"

#include <catch2/catch.hpp>
#include <utility>

#include "base/rng.hpp"

using namespace ukemi;

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

// One field set, one field of the Plan changed, one knob turned.
template <class Set, class Expect>
void check_field(Knob knob, Set set, Expect expect) {
    CAPTURE(name_of(knob));
    Decision decision;
    set(decision);
    Plan expected = plan_of({line(0, 2)});
    expect(expected);
    CHECK(changed(plan_of({line(0, 2)}), decision, {knob}) == expected);
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
    check_field(
        Knob::workers, [](Decision& d) { d.workers_max = 7; }, [](Plan& p) { p.workers_max = 7; });
    check_field(
        Knob::learners_per_gpu, [](Decision& d) { d.learners_per_gpu = 2; },
        [](Plan& p) { p.learners_per_gpu = 2; });
    check_field(
        Knob::batch, [](Decision& d) { d.batch_per_learner = 64; },
        [](Plan& p) { p.batch_per_learner = 64; });
    check_field(
        Knob::accumulation, [](Decision& d) { d.accumulation = 4; },
        [](Plan& p) { p.accumulation = 4; });
    check_field(
        Knob::learning_rate, [](Decision& d) { d.learning_rate = 0.25; },
        [](Plan& p) { p.learning_rate = 0.25; });
    check_field(
        Knob::synchronisation, [](Decision& d) { d.synchronisation = Synchronisation::local_sgd; },
        [](Plan& p) { p.synchronisation = Synchronisation::local_sgd; });
    check_field(
        Knob::collective, [](Decision& d) { d.collective = Collective::ring; },
        [](Plan& p) { p.collective = Collective::ring; });
    check_field(
        Knob::codec, [](Decision& d) { d.codec = Codec::qsgd; },
        [](Plan& p) { p.codec = Codec::qsgd; });
    check_field(
        Knob::codec, [](Decision& d) { d.codec_level = 4; }, [](Plan& p) { p.codec_level = 4; });
    check_field(
        Knob::layout,
        [](Decision& d) {
            d.layout = Layout{4, 2, 1};
        },
        [](Plan& p) {
            p.layout = {4, 2, 1};
        });
    check_field(
        Knob::checkpoint_interval, [](Decision& d) { d.checkpoint_interval = minutes(9); },
        [](Plan& p) { p.checkpoint_interval = minutes(9); });
    check_field(
        Knob::checkpoint_on_notice, [](Decision& d) { d.checkpoint_on_notice = true; },
        [](Plan& p) { p.checkpoint_on_notice = true; });
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

TEST_CASE("decision: a fleet replaces the list, sorted by zone, type and market", "[decision]") {
    Decision decision;
    decision.fleet = {line(1, 1), line(0, 2, Market::on_demand), line(0, 3),
                      line(0, 4, Market::spot, 1)};
    const Plan plan =
        changed(plan_of({line(0, 9)}), decision,
                {Knob::zone, Knob::instance_type, Knob::market, Knob::count, Knob::bid});
    CHECK(plan.fleet == std::vector<FleetLine>{line(0, 3), line(0, 2, Market::on_demand),
                                               line(0, 4, Market::spot, 1), line(1, 1)});
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
