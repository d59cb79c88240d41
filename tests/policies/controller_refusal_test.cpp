// controller_refusal_test.cpp — what a world cannot do is refused, as a whole and with a reason.
#include <catch2/catch.hpp>
#include <limits>

#include "tests/policies/scripted_policy.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using Calls = std::vector<std::string>;

TEST_CASE("controller: one bad field refuses all that was decided at that boundary",
          "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::learning_rate, Knob::count}, [](const PolicyView&) {
        Decision decision;
        decision.learning_rate = 0.5;
        decision.count = 11;  // of ten
        return decision;
    });
    test.add("b", {Knob::batch}, [](const PolicyView&) {
        Decision decision;
        decision.batch_per_learner = 8;
        return decision;
    });
    const Plan before = test.controller().plan();
    CHECK_FALSE(test.ask().has_value());
    CHECK_FALSE(test.controller().awaiting_commit());
    CHECK(test.controller().plan() == before);
    CHECK(test.controller().refused_count() == 1);
    CHECK(test.controller().first_refusal() == "11 instances where 10 are allowed");
    CHECK(test.log.lines == Calls{"question: a b, refused: 11 instances where 10 are allowed"});
}

TEST_CASE("refusal: names what is wrong", "[controller]") {
    const ControllerSetup setup = able_setup();
    const auto refused = [&](auto change) {
        Plan plan = setup.plan;
        change(plan);
        return refusal(setup.capabilities, plan);
    };
    CHECK(refused([](Plan&) {}).empty());
    CHECK(refused([](Plan& p) { p.fleet[1].zone = ZoneId{2}; }) == "zone 2 does not exist");
    CHECK(refused([](Plan& p) { p.fleet[1].instance_type = 1; }) ==
          "instance type 1 does not exist");
    CHECK(refused([](Plan& p) { p.fleet[0].count = -1; }) == "a count of -1 instances");
    CHECK(refused([](Plan& p) { p.fleet[0].count = std::numeric_limits<std::int32_t>::max(); }) ==
          "2147483649 instances where 10 are allowed");
    CHECK(refused([](Plan& p) { p.fleet[0].bid = Price::of(-1); }) == "a bid below zero");
    CHECK(refused([](Plan& p) { p.workers_max = 0; }) == "0 workers");
    CHECK(refused([](Plan& p) { p.learners_per_gpu = 0; }) == "0 learners per GPU");
    CHECK(refused([](Plan& p) { p.batch_per_learner = -4; }) == "a batch of -4");
    CHECK(refused([](Plan& p) { p.global_batch = -1; }) == "a global batch of -1");
    CHECK(refused([](Plan& p) { p.accumulation = 0; }) == "accumulation of 0 steps");
    CHECK(refused([](Plan& p) { p.checkpoint_interval = Duration{}; }) ==
          "a checkpoint interval that is not positive");
    CHECK(refused([](Plan& p) { p.learning_rate = -0.5; }) == "a learning rate of -0.5");
    CHECK(refused([](Plan& p) { p.learning_rate = std::numeric_limits<double>::quiet_NaN(); }) ==
          "a learning rate of nan");
    CHECK(refused([](Plan& p) { p.learning_rate = std::numeric_limits<double>::infinity(); }) ==
          "a learning rate of inf");
    CHECK(refused([](Plan& p) { p.codec_level = std::numeric_limits<double>::quiet_NaN(); }) ==
          "a codec level of nan");
    CHECK(refused([](Plan& p) { p.layout.tensor = 0; }) ==
          "a layout with nothing in one direction");
    // 2^62 samples a learner on each of ten machines.
    CHECK(refused([](Plan& p) { p.batch_per_learner = std::int64_t{1} << 62; }) ==
          "more samples in a step than can be counted");
}

TEST_CASE("refusal: more learners than the world has", "[controller]") {
    ControllerSetup setup = able_setup();
    setup.capabilities.learners_max = 4;
    setup.plan.learners_per_gpu = 4;
    CHECK(refusal(setup.capabilities, setup.plan).empty());
    setup.plan.learners_per_gpu = 5;
    CHECK(refusal(setup.capabilities, setup.plan) ==
          "5 learners per GPU where the test world knows the steps of 4 at most");
}

TEST_CASE("controller: a negative count is refused and not rounded away", "[controller]") {
    // −1 in equal parts over two lines is −1/2 each, which integers would make zero.
    ScriptedController test;
    test.add("a", {Knob::count}, [](const PolicyView&) {
        Decision decision;
        decision.count = -1;
        return decision;
    });
    CHECK_FALSE(test.ask().has_value());
    CHECK(test.log.lines == Calls{"question: a, refused: a count of -1 instances"});
}

TEST_CASE("policy conflict: two policies with one knob", "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::market, Knob::batch, Knob::learning_rate});
    test.add("b", {Knob::zone});
    test.add("c", {Knob::learning_rate, Knob::market});
    CHECK(policy_conflict(test.setup.policies, test.setup.capabilities) ==
          "policies \"a\" and \"c\" both turn market, learning_rate");
    test.setup.policies.pop_back();
    CHECK(policy_conflict(test.setup.policies, test.setup.capabilities).empty());
}

TEST_CASE("policy conflict: a knob that the world cannot turn", "[controller]") {
    ScriptedController test;
    test.setup.capabilities.knobs = {Knob::market, Knob::count};
    test.add("a", {Knob::market});
    test.add("b", {Knob::codec});
    CHECK(policy_conflict(test.setup.policies, test.setup.capabilities) ==
          "policy \"b\" turns the knob \"codec\", which the test world cannot turn (it turns "
          "market, count)");
}
