// controller_protocol_test.cpp — propose, committed, discarded; when to ask; what was trained.
#include <catch2/catch.hpp>

#include "tests/policies/scripted_policy.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using Calls = std::vector<std::string>;

namespace {

// Doubles the learning rate whenever it is asked.
Decision double_rate(const PolicyView& view) {
    Decision decision;
    decision.learning_rate = 2 * view.plan.learning_rate;
    return decision;
}

}  // namespace

TEST_CASE("controller: versions count the Plans that were committed", "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::learning_rate}, double_rate);
    Controller& controller = test.controller();
    CHECK(index_of(controller.plan().version) == 0);
    for (std::uint32_t version = 1; version <= 3; ++version) {
        const auto plan = test.ask();
        REQUIRE(plan.has_value());
        CHECK(index_of(plan->version) == version);
        CHECK(controller.awaiting_commit());
        CHECK(index_of(controller.plan().version) == version - 1);  // nothing holds before commit
        controller.committed(plan->version);
        CHECK_FALSE(controller.awaiting_commit());
        CHECK(controller.plan() == *plan);
    }
    CHECK(controller.plan().learning_rate == 0.8);
    CHECK(test.log.lines == Calls{"question: a, proposed 1", "committed 1",
                                  "question: a, proposed 2", "committed 2",
                                  "question: a, proposed 3", "committed 3"});
}

TEST_CASE("controller: a discarded Plan leaves the old one exactly, and the policies hear why",
          "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::learning_rate}, double_rate).only({Hook::on_event});
    test.add("b").only({Hook::before_train});
    Controller& controller = test.controller();
    const Plan before = controller.plan();
    const auto plan = test.ask();
    REQUIRE(plan.has_value());
    controller.discarded(plan->version, "a worker died");
    CHECK(controller.plan() == before);
    CHECK_FALSE(controller.awaiting_commit());
    CHECK(test.calls ==
          Calls{"a on_event", "a discarded 1: a worker died", "b discarded 1: a worker died"});
    CHECK(test.log.lines == Calls{"question: a, proposed 1", "discarded 1: a worker died"});
    // The next Plan takes the version that was not used.
    const auto again = test.ask();
    REQUIRE(again.has_value());
    CHECK(*again == *plan);
    controller.committed(again->version);
    CHECK(controller.plan().learning_rate == 0.2);
}

TEST_CASE("controller: every policy hears of a commit", "[controller]") {
    ScriptedController test;
    test.add("a", {Knob::learning_rate}, double_rate);
    test.add("b");
    test.controller().committed(test.ask()->version);
    CHECK(test.calls == Calls{"a on_event", "b on_event", "a committed 1", "b committed 1"});
}

TEST_CASE("controller: ask_at is the earliest moment that any policy asked for", "[controller]") {
    ScriptedController test;
    std::optional<Duration> wish_a = minutes(5);
    std::optional<Duration> wish_b = minutes(3);
    const auto asking = [](const std::optional<Duration>& wish) {
        return [&wish](const PolicyView&) {
            Decision decision;
            decision.ask_again_in = wish;
            return decision;
        };
    };
    test.add("a", {}, asking(wish_a));
    test.add("b", {}, asking(wish_b));
    CHECK(test.controller().ask_at() == Instant::never());
    test.seen.now = Instant::at(minutes(10));
    CHECK_FALSE(test.ask().has_value());  // to be asked again is no change
    CHECK(test.controller().ask_at() == Instant::at(minutes(13)));
    wish_b.reset();  // an event answered without a wish ends the old one
    test.ask();
    CHECK(test.controller().ask_at() == Instant::at(minutes(15)));
    wish_a.reset();
    test.ask();
    CHECK(test.controller().ask_at() == Instant::never());
}

TEST_CASE("controller: a wish to be asked again outlives questions that are no events",
          "[controller]") {
    ScriptedController test;
    std::optional<Duration> wish = minutes(5);
    test.add("a", {}, [&](const PolicyView&) {
        Decision decision;
        decision.ask_again_in = wish;
        return decision;
    });
    test.ask();
    wish.reset();
    test.seen.now = Instant::at(minutes(4));
    test.ask(Hook::before_step);
    CHECK(test.controller().ask_at() == Instant::at(minutes(5)));
    test.seen.now = Instant::at(minutes(5));  // the moment has come: this question is the answer
    test.ask(Hook::before_step);
    CHECK(test.controller().ask_at() == Instant::never());
}

TEST_CASE("controller: counts samples by the Plan that the steps were taken under",
          "[controller]") {
    ScriptedController test;
    test.setup.plan.learners_per_gpu = 2;
    test.setup.plan.accumulation = 3;
    test.setup.samples_per_epoch = 100;
    test.add("a", {Knob::batch}, [](const PolicyView&) {
        Decision decision;
        decision.batch_per_learner = 1;
        return decision;
    });
    Controller& controller = test.controller();
    controller.steps_finished(5, 2);  // 5 steps · batch 4 · 2 learners · 3 · 2 workers
    CHECK(controller.samples_done() == 240);
    CHECK(controller.steps_done() == 5);
    controller.committed(test.ask()->version);
    CHECK(test.seen.samples_done == 240);
    CHECK(test.seen.steps_done == 5);
    CHECK(test.seen.samples_total == 1000);
    CHECK(test.seen.epoch == 2);
    controller.steps_finished(10, 1);  // 10 · 1 · 2 · 3 · 1
    CHECK(controller.samples_done() == 300);
    CHECK_FALSE(controller.finished());
    test.ask();
    CHECK(test.seen.epoch == 3);
}

TEST_CASE("controller: a global batch is the same for any number of workers", "[controller]") {
    ScriptedController test;
    test.setup.plan.global_batch = 100;
    Controller& controller = test.controller();
    controller.steps_finished(3, 1);
    controller.steps_finished(3, 4);
    CHECK(controller.samples_done() == 600);
    controller.steps_finished(4, 4);
    CHECK(controller.finished());
    CHECK(controller.samples_done() == 1000);
}

TEST_CASE("controller: a loss takes the accounting back", "[controller]") {
    ScriptedController test;
    Controller& controller = test.controller();
    controller.steps_finished(10, 1);  // 40 samples
    controller.rolled_back(12, 3);
    CHECK(controller.samples_done() == 12);
    CHECK(controller.steps_done() == 3);
    controller.steps_finished(1, 1);
    CHECK(controller.samples_done() == 16);
    controller.resume_at(600, 150);
    CHECK(controller.samples_done() == 600);
    CHECK(controller.steps_done() == 150);
    test.ask();
    CHECK(test.seen.epoch == 0);  // no epochs were named: one
}
