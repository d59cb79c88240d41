// step_hooks_test.cpp — which hooks a boundary has, in which order, and how far it is to the next.
#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/policies/scripted_policy.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using Calls = std::vector<std::string>;

namespace {

constexpr HookSet of_steps{Hook::before_step, Hook::after_step};
constexpr HookSet of_epochs{Hook::before_epoch, Hook::after_epoch};

// Asks everything that the present boundary has to ask.
void ask_boundary(ScriptedController& test) {
    while (const auto event = test.controller().next_hook()) {
        CHECK(event->kind == EventKind::none);
        const auto plan = test.controller().propose(*event, test.seen);
        if (plan) test.controller().committed(plan->version);
    }
}

// One step of one worker, with a line for it among the calls.
void take_step(ScriptedController& test) {
    test.controller().steps_finished(1, 1);
    test.calls.push_back(fmt::format("step {}", test.controller().steps_done()));
}

}  // namespace

TEST_CASE("step hooks: KungFu's order over two epochs of two steps", "[controller][golden]") {
    ScriptedController test;
    test.setup.samples_total = 16;  // a step of one worker has 4 samples
    test.setup.samples_per_epoch = 8;
    test.add("a").only(of_steps | of_epochs);
    test.add("b").only(of_steps | of_epochs);
    ask_boundary(test);
    while (!test.controller().finished()) {
        CHECK(test.controller().steps_until_hook(1) == 1);
        take_step(test);
        ask_boundary(test);
    }
    CHECK(test.calls == Calls{"a before_epoch", "b before_epoch",            // the first
                              "a before_step",  "b before_step",  "step 1",  //
                              "b after_step",   "a after_step",              //
                              "a before_step",  "b before_step",  "step 2",  //
                              "b after_step",   "a after_step",              //
                              "b after_epoch",  "a after_epoch",             //
                              "a before_epoch", "b before_epoch",            // the second
                              "a before_step",  "b before_step",  "step 3",  //
                              "b after_step",   "a after_step",              //
                              "a before_step",  "b before_step",  "step 4",  //
                              "b after_step",   "a after_step",              //
                              "b after_epoch",  "a after_epoch"});  // and nothing before a fifth
    CHECK_FALSE(test.controller().steps_until_hook(1).has_value());
    CHECK_FALSE(test.controller().next_hook().has_value());
}

TEST_CASE("step hooks: each policy is asked at its own multiples, and nobody in between",
          "[controller]") {
    ScriptedController test;
    test.add("two").only({Hook::before_step}).every(2);
    test.add("three").only({Hook::after_step}).every(3);
    std::vector<std::int64_t> asked_at;
    ask_boundary(test);
    while (test.controller().steps_done() < 12) {
        const auto steps = test.controller().steps_until_hook(1);
        REQUIRE(steps.has_value());
        test.controller().steps_finished(*steps, 1);
        test.calls.push_back(fmt::format("at {}", test.controller().steps_done()));
        ask_boundary(test);
    }
    CHECK(test.calls == Calls{"two before_step", "at 2", "two before_step", "at 3",
                              "three after_step", "at 4", "two before_step", "at 6",
                              "three after_step", "two before_step", "at 8", "two before_step",
                              "at 9", "three after_step", "at 10", "two before_step", "at 12",
                              "three after_step", "two before_step"});
}

TEST_CASE("step hooks: an epoch ends with the first step that reaches its samples",
          "[controller]") {
    ScriptedController test;
    test.setup.plan.batch_per_learner = 30;
    test.setup.samples_per_epoch = 100;  // steps end at 30, 60, 90, 120 | 150, 180, 210 | 240 …
    test.setup.samples_total = 250;
    test.add("a").only(of_epochs);
    ask_boundary(test);
    CHECK(test.controller().steps_until_hook(1) == 4);
    CHECK(test.controller().steps_until_hook(2) == 2);
    CHECK(test.controller().steps_until_hook(4) == 1);
    std::vector<std::int64_t> ends;
    while (!test.controller().finished()) {
        test.controller().steps_finished(1, 1);
        const std::size_t calls = test.calls.size();
        ask_boundary(test);
        if (test.calls.size() > calls) ends.push_back(test.controller().samples_done());
    }
    CHECK(ends == std::vector<std::int64_t>{120, 210});  // 270 ends the work inside the third
    CHECK(test.calls == Calls{"a before_epoch", "a after_epoch", "a before_epoch", "a after_epoch",
                              "a before_epoch"});
    CHECK(test.seen.epoch == 2);
}

TEST_CASE("step hooks: a step longer than an epoch ends one epoch, not several", "[controller]") {
    ScriptedController test;
    test.setup.plan.batch_per_learner = 250;
    test.setup.samples_per_epoch = 100;
    test.add("a").only(of_epochs);
    ask_boundary(test);
    CHECK(test.controller().steps_until_hook(1) == 1);
    take_step(test);
    ask_boundary(test);
    CHECK(test.calls == Calls{"a before_epoch", "step 1", "a after_epoch", "a before_epoch"});
    CHECK(test.seen.epoch == 2);
}

TEST_CASE("step hooks: a job without epochs is one", "[controller]") {
    ScriptedController test;
    test.setup.samples_total = 10;
    test.add("a").only(of_epochs);
    ask_boundary(test);
    CHECK(test.controller().steps_until_hook(1) == 3);  // of 4 samples each
    test.controller().steps_finished(3, 1);
    ask_boundary(test);
    CHECK(test.calls == Calls{"a before_epoch", "a after_epoch"});
}

TEST_CASE("step hooks: a larger batch brings the end of the epoch nearer", "[controller]") {
    ScriptedController test;
    test.setup.samples_per_epoch = 100;
    test.add("a", {Knob::batch},
             [](const PolicyView&) {
                 Decision decision;
                 decision.batch_per_learner = 16;
                 return decision;
             })
        .only({Hook::after_step, Hook::after_epoch})
        .every(5);
    ask_boundary(test);
    CHECK(test.controller().steps_until_hook(1) == 5);
    test.controller().steps_finished(5, 1);  // 20 samples
    ask_boundary(test);                      // 80 are left, in steps of 16
    CHECK(test.controller().steps_until_hook(1) == 5);
    CHECK(test.controller().steps_until_hook(2) == 3);
    CHECK(test.controller().steps_until_hook(5) == 1);
}

TEST_CASE("step hooks: there is nothing to stop for where nobody looks", "[controller]") {
    ScriptedController test;
    test.add("a").only({Hook::before_train, Hook::on_event, Hook::after_train});
    CHECK_FALSE(test.controller().next_hook().has_value());
    CHECK_FALSE(test.controller().steps_until_hook(1).has_value());
    test.controller().steps_finished(7, 1);
    CHECK_FALSE(test.controller().next_hook().has_value());
    CHECK_FALSE(test.controller().steps_until_hook(1).has_value());
}

TEST_CASE("step hooks: a boundary is asked once, however often training begins there",
          "[controller]") {
    ScriptedController test;
    test.add("a").only(of_steps);
    ask_boundary(test);
    ask_boundary(test);
    take_step(test);
    ask_boundary(test);
    test.controller().steps_finished(0, 1);  // a torn step is no step
    ask_boundary(test);
    test.controller().rolled_back(4, 1);  // nothing was lost
    ask_boundary(test);
    CHECK(test.calls == Calls{"a before_step", "step 1", "a after_step", "a before_step"});
}

TEST_CASE("step hooks: what a loss took back is asked about again", "[controller]") {
    ScriptedController test;
    test.setup.samples_per_epoch = 8;
    test.add("a").only(of_steps | of_epochs);
    for (int count = 0; count < 3; ++count) {
        ask_boundary(test);
        take_step(test);
    }
    ask_boundary(test);
    test.calls.clear();
    test.controller().rolled_back(4, 1);  // into the first epoch, which had begun
    for (int count = 0; count < 2; ++count) {
        ask_boundary(test);
        take_step(test);
    }
    CHECK(test.calls == Calls{"a before_epoch", "a before_step", "step 2", "a after_step",
                              "a after_epoch", "a before_epoch", "a before_step", "step 3"});
}

TEST_CASE("step hooks: who was asked about a later step is asked where a loss leads to",
          "[controller]") {
    ScriptedController test;
    test.add("a").only({Hook::before_step}).every(4);
    test.add("b").only({Hook::before_step}).every(3);
    const auto steps_to = [&](std::int64_t step) {
        ask_boundary(test);
        while (test.controller().steps_done() < step) {
            take_step(test);
            ask_boundary(test);
        }
        test.calls.clear();
    };
    steps_to(5);
    test.controller().rolled_back(16, 4);  // after what both were last asked about
    ask_boundary(test);
    CHECK(test.calls == Calls{"a before_step"});  // as its turn is
    test.calls.clear();
    test.controller().rolled_back(8, 2);
    ask_boundary(test);
    CHECK(test.calls == Calls{"a before_step", "b before_step"});
    test.calls.clear();
    take_step(test);
    ask_boundary(test);
    CHECK(test.calls == Calls{"step 3", "b before_step"});
}

TEST_CASE("step hooks: a resumed job begins the epoch it stands in", "[controller]") {
    ScriptedController test;
    test.setup.samples_per_epoch = 8;
    test.add("a").only(of_steps | of_epochs);
    test.controller().resume_at(28, 7);
    CHECK(test.controller().steps_until_hook(1) == 1);
    ask_boundary(test);
    take_step(test);
    ask_boundary(test);
    CHECK(test.calls == Calls{"a before_epoch", "a before_step", "step 8", "a after_step",
                              "a after_epoch", "a before_epoch", "a before_step"});
}

TEST_CASE("step hooks: stopping only where it is said to be asks what asking each step asks",
          "[controller][property]") {
    const std::uint64_t seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{41}));
    CAPTURE(seed);
    RandomStream random(seed, "test/hooks");
    const std::int64_t batch = random.integer(1, 40);
    const std::int64_t epoch = random.integer(1, 200);
    const std::int64_t every_a = random.integer(1, 9);
    const std::int64_t every_b = random.integer(1, 9);
    std::vector<Calls> runs;
    for (const bool each_step : {true, false}) {
        ScriptedController test;
        test.setup.plan.batch_per_learner = batch;
        test.setup.samples_per_epoch = epoch;
        test.add("a").only({Hook::after_step, Hook::after_epoch}).every(every_a);
        test.add("b").only({Hook::before_step, Hook::before_epoch}).every(every_b);
        ask_boundary(test);
        while (!test.controller().finished()) {
            const std::int64_t left =
                test.controller().samples_total() - test.controller().samples_done();
            const std::int64_t to_end = (left + batch - 1) / batch;
            const std::int64_t far = test.controller().steps_until_hook(1).value();
            REQUIRE(far >= 1);
            test.controller().steps_finished(each_step ? 1 : std::min(far, to_end), 1);
            const std::size_t calls = test.calls.size();
            ask_boundary(test);
            for (std::size_t call = calls; call < test.calls.size(); ++call) {
                test.calls[call] += fmt::format(" at {}", test.controller().steps_done());
            }
            // No stop for nothing, but at the end of the work.
            const bool stopped_for = test.calls.size() > calls || test.controller().finished();
            CHECK((each_step || stopped_for));
        }
        runs.push_back(test.calls);
    }
    CHECK(runs[0] == runs[1]);
}
