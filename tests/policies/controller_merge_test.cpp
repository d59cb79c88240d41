// controller_merge_test.cpp — who is asked, in which order, and how answers become one Plan.
#include <catch2/catch.hpp>

#include "tests/policies/scripted_policy.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using Calls = std::vector<std::string>;

TEST_CASE("controller: before_* and events in list order, after_* in reverse", "[controller]") {
    ScriptedController test;
    test.add("a");
    test.add("b");
    for (const Hook hook :
         {Hook::before_train, Hook::before_epoch, Hook::before_step, Hook::on_event,
          Hook::after_step, Hook::after_epoch, Hook::after_train}) {
        test.ask(hook);
    }
    CHECK(test.calls == Calls{"a before_train", "b before_train", "a before_epoch",
                              "b before_epoch", "a before_step", "b before_step", "a on_event",
                              "b on_event", "b after_step", "a after_step", "b after_epoch",
                              "a after_epoch", "b after_train", "a after_train"});
}

TEST_CASE("controller: a policy is called for the hooks that it has", "[controller]") {
    ScriptedController test;
    test.add("a").only({Hook::on_event});
    test.add("b").only({Hook::before_train, Hook::after_step});
    CHECK(test.controller().has_hook(Hook::on_event));
    CHECK(test.controller().has_hook(Hook::after_step));
    CHECK_FALSE(test.controller().has_hook(Hook::before_epoch));
    test.ask(Hook::before_train);
    test.ask(Hook::before_epoch);
    test.ask(Hook::on_event);
    CHECK(test.calls == Calls{"b before_train", "a on_event"});
}

TEST_CASE("controller: a policy that is asked every n steps is asked at multiples of n",
          "[controller]") {
    ScriptedController test;
    test.add("each").only({Hook::before_step});
    test.add("third").only({Hook::before_step, Hook::on_event}).every(3);
    for (int step = 0; step < 5; ++step) {
        test.ask(Hook::before_step);
        test.controller().steps_finished(1, 1);
    }
    test.ask(Hook::on_event);  // events do not wait for the step
    CHECK(test.calls == Calls{"each before_step", "third before_step", "each before_step",
                              "each before_step", "each before_step", "third before_step",
                              "each before_step", "third on_event"});
}

TEST_CASE("controller: all policies at one boundary see the same Observation and Plan",
          "[controller]") {
    ScriptedController test;
    std::vector<Observation> seen;
    std::vector<Plan> plans;
    const auto look = [&](double rate, KnobSet knob) {
        return [&seen, &plans, rate, knob](const PolicyView& view) {
            seen.push_back(view.seen);
            plans.push_back(view.plan);
            Decision decision;
            if (knob.has(Knob::learning_rate)) decision.learning_rate = rate;
            if (knob.has(Knob::accumulation)) decision.accumulation = 2;
            return decision;
        };
    };
    test.add("a", {Knob::learning_rate}, look(0.5, {Knob::learning_rate}));
    test.add("b", {Knob::accumulation}, look(0, {Knob::accumulation}));
    test.seen.spot_capacity = 3;
    const Plan first = test.controller().plan();
    test.ask();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0].spot_capacity == 3);
    CHECK(seen[0].samples_total == 1000);
    CHECK(plans[0] == first);
    CHECK(plans[1] == first);
}

TEST_CASE("controller: the knobs of two policies merge into one next version", "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::learning_rate}, [](const PolicyView&) {
        Decision decision;
        decision.learning_rate = 0.5;
        return decision;
    });
    test.add("b", {Knob::market}, [](const PolicyView&) {
        Decision decision;
        decision.market = Market::on_demand;
        return decision;
    });
    Plan expected = test.controller().plan();
    expected.version = PlanVersion{1};
    expected.learning_rate = 0.5;
    expected.fleet[0].market = Market::on_demand;
    expected.fleet[1].market = Market::on_demand;
    CHECK(test.ask() == expected);
    CHECK(test.log.lines == Calls{"question: a b, proposed 1"});
}

TEST_CASE("controller: who places machines is asked last, about the market just chosen",
          "[controller]") {
    ScriptedController test;
    std::vector<Market> shown;
    test.add("places", {Knob::zone, Knob::count}, [&](const PolicyView& view) {
        shown.push_back(fleet_market(view.plan));
        Decision decision;
        if (shown.back() == Market::on_demand) decision.zone_counts = {{{ZoneId{1}, 4}}};
        return decision;
    });
    std::optional<Market> wanted = Market::on_demand;
    test.add("buys", {Knob::market}, [&](const PolicyView& view) {
        CHECK(view.plan == test.controller().plan());
        Decision decision;
        decision.market = wanted;
        return decision;
    });
    const auto next = test.ask();
    REQUIRE(next.has_value());
    CHECK(next->version == PlanVersion{1});  // one change, not two
    REQUIRE(next->fleet.size() == 1);
    CHECK(next->fleet[0].zone == ZoneId{1});
    CHECK(next->fleet[0].market == Market::on_demand);
    CHECK(next->fleet[0].count == 4);
    CHECK(test.calls == Calls{"buys on_event", "places on_event"});
    test.controller().discarded(next->version, "a test");
    // A market that stays, and no answer, leave the Plan as it is.
    wanted = Market::spot;
    CHECK_FALSE(test.ask().has_value());
    wanted.reset();
    CHECK_FALSE(test.ask(Hook::after_step).has_value());
    CHECK(shown == std::vector{Market::on_demand, Market::spot, Market::spot});
}

TEST_CASE("controller: a repeated market does not hide what the next policy wants",
          "[controller]") {
    ScriptedController test;
    const auto repeat = [](const PolicyView&) {
        Decision decision;
        decision.market = Market::spot;
        return decision;
    };
    const auto grow = [](const PolicyView&) {
        Decision decision;
        decision.zone_counts = {{ZoneId{0}, 3}, {ZoneId{1}, 3}};
        return decision;
    };
    const bool repeat_first = GENERATE(true, false);
    if (repeat_first) test.add("a", {Knob::market}, repeat);
    test.add("b", {Knob::zone, Knob::count}, grow);
    if (!repeat_first) test.add("a", {Knob::market}, repeat);
    const auto plan = test.ask();
    REQUIRE(plan.has_value());
    CHECK(fleet_count(*plan) == 6);
    CHECK(fleet_market(*plan) == Market::spot);
}

TEST_CASE("controller: a wish that the Plan fulfils already is no proposal", "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::learning_rate, Knob::market}, [](const PolicyView&) {
        Decision decision;
        decision.learning_rate = 0.1;
        decision.market = Market::spot;
        return decision;
    });
    CHECK_FALSE(test.ask().has_value());
    CHECK_FALSE(test.controller().awaiting_commit());
    CHECK(test.log.lines == Calls{"question: a"});
}

TEST_CASE("controller: each policy draws from the stream of its name", "[controller]") {
    ScriptedController test;
    std::vector<std::uint64_t> drawn_by_b;
    test.add("a", {}, [](const PolicyView& view) {
        view.random.bits();  // changes nothing for b
        return Decision{};
    });
    test.add("b", {}, [&](const PolicyView& view) {
        drawn_by_b.push_back(view.random.bits());
        return Decision{};
    });
    test.ask();
    test.ask();
    RandomStream expected(7, "policy/b");
    REQUIRE(drawn_by_b.size() == 2);
    CHECK(drawn_by_b[0] == expected.bits());
    CHECK(drawn_by_b[1] == expected.bits());
}

TEST_CASE("controller: policies are shown the oracle that the scenario names, or none",
          "[controller]") {
    class Nothing final : public Oracle {
    public:
        Duration spot_time(Instant, Instant, std::int32_t) const override { return {}; }
    };
    const Nothing oracle;
    const bool named = GENERATE(false, true);
    const Oracle* shown = nullptr;
    ScriptedController test;
    if (named) test.setup.oracle = &oracle;
    test.add("a", {}, [&](const PolicyView& view) {
        shown = view.oracle;
        return Decision{};
    });
    test.ask();
    CHECK(shown == (named ? &oracle : nullptr));
}
