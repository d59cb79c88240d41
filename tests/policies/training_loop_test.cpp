// training_loop_test.cpp — somebody's own loop: reports in, Plans out, nothing asked out of turn.
#include "policies/training_loop.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/input_error.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Writes down what is asked, and when.
class Listener final : public ControllerLog {
public:
    void question(const QuestionRecord& record) override {
        const bool event = record.event.hook == Hook::on_event;
        questions.push_back(fmt::format(
            "{}{}{} at {} s, step {}{}", hook_names()[static_cast<std::size_t>(record.event.hook)],
            event ? " " : "",
            event ? event_kind_names()[static_cast<std::size_t>(record.event.kind)] : "",
            record.seen.now.raw() / whole_seconds(1).raw(), record.seen.steps_done,
            record.proposed != nullptr ? ": a Plan" : ""));
        seen = record.seen;
    }
    void committed(PlanVersion) override { questions.emplace_back("committed"); }
    void discarded(PlanVersion, std::string_view why) override {
        questions.push_back(fmt::format("discarded: {}", why));
    }
    std::vector<std::string> questions;
    Observation seen;
};
using Questions = std::vector<std::string>;

TrainingLoopSetup setup_with(std::string policies) {
    TrainingLoopSetup setup;
    setup.policies = fmt::format(R"({{"policies": [{}]}})", policies);
    setup.plan.fleet = {{ZoneId{0}, 0, Market::on_demand, 2, {}}};
    setup.plan.workers_max = 2;
    setup.plan.batch_per_learner = 8;
    setup.capabilities.knobs = {Knob::market, Knob::count, Knob::workers,
                                Knob::checkpoint_interval};
    setup.capabilities.instances_max = 4;
    setup.samples_total = 160;
    return setup;
}

Instant at(std::int64_t s) { return Instant::at(whole_seconds(s)); }

FinishedStep step_at(std::int64_t s, double noise_scale = 0) {
    FinishedStep step;
    step.now = at(s);
    step.duration = whole_seconds(1);
    step.workers = 2;
    step.loss = 0.5;
    step.gradient.noise_scale = noise_scale;
    return step;
}

}  // namespace

TEST_CASE("training loop: one Plan at a time, and after each the rest of the questions",
          "[training_loop]") {
    Listener log;
    TrainingLoopSetup setup =
        setup_with(R"({"name": "noise_scale_resize", "every_steps": 2}, {"name": "periodic"})");
    setup.log = &log;
    TrainingLoop loop(setup);
    auto plan = loop.start(at(0));
    REQUIRE(plan.has_value());
    CHECK(plan->checkpoint_interval == hours(1));
    CHECK(loop.plan().checkpoint_interval == never_checkpoint);  // not before it is committed
    CHECK(loop.awaiting_commit());
    CHECK_FALSE(loop.committed(at(1)).has_value());
    CHECK(loop.plan() == *plan);
    CHECK_FALSE(loop.step(step_at(2, 5)).has_value());
    CHECK_FALSE(loop.step(step_at(3, 5)).has_value());
    CHECK_FALSE(loop.step(step_at(4, 6)).has_value());
    plan = loop.step(step_at(5, 6));
    REQUIRE(plan.has_value());
    CHECK(plan->workers_max == 3);
    CHECK(fleet_count(*plan) == 3);
    CHECK_FALSE(loop.discarded("a worker died", at(6)).has_value());
    CHECK(loop.plan().workers_max == 2);
    loop.stop(at(7));
    CHECK(log.questions ==
          Questions{"before_train at 0 s, step 0: a Plan", "committed", "after_step at 2 s, step 1",
                    "after_step at 3 s, step 2", "after_step at 4 s, step 3",
                    "after_step at 5 s, step 4: a Plan", "discarded: a worker died"});
    CHECK(log.seen.loss == 0.5);
    CHECK(log.seen.workers == 2);
    CHECK(log.seen.samples_done == 64);
    REQUIRE(log.seen.worker_views.size() == 2);  // the step took as long for each
    CHECK(log.seen.worker_views[1] == WorkerView{InstanceId{1}, whole_seconds(1), {}, {}, {}});
}

TEST_CASE("training loop: of events before a commit the most urgent is told after it",
          "[training_loop]") {
    Listener log;
    TrainingLoopSetup setup = setup_with(R"({"name": "on_demand"}, {"name": "periodic"})");
    setup.log = &log;
    TrainingLoop loop(setup);
    REQUIRE(loop.start(at(0)).has_value());
    CHECK_FALSE(loop.event(EventKind::revocation_notice, at(1)).has_value());
    CHECK_FALSE(loop.event(EventKind::price_changed, at(2)).has_value());
    CHECK(log.questions == Questions{"before_train at 0 s, step 0: a Plan"});
    CHECK_FALSE(loop.committed(at(3)).has_value());
    CHECK_FALSE(loop.event(EventKind::capacity_changed, at(4)).has_value());
    CHECK(log.questions == Questions{"before_train at 0 s, step 0: a Plan", "committed",
                                     "on_event revocation_notice at 3 s, step 0",
                                     "on_event capacity_changed at 4 s, step 0"});
}

TEST_CASE("training loop: a policy that asked to be asked again is", "[training_loop]") {
    Listener log;
    TrainingLoopSetup setup = setup_with(R"({"name": "greedy"})");
    setup.deadline = at(100);  // 10 steps of a second are to be done: 90 s of slack
    setup.log = &log;
    TrainingLoop loop(setup);
    auto plan = loop.start(at(0));
    REQUIRE(plan.has_value());
    CHECK(fleet_market(*plan) == Market::none);  // no spot, and time enough
    CHECK_FALSE(loop.committed(at(0)).has_value());
    CHECK_FALSE(loop.step(step_at(80)).has_value());
    plan = loop.step(step_at(95));  // the slack is used up
    REQUIRE(plan.has_value());
    CHECK(fleet_market(*plan) == Market::on_demand);
    CHECK(log.questions.back() == "on_event clock at 95 s, step 2: a Plan");
}

TEST_CASE("training loop: says when to save, and goes back to what was saved", "[training_loop]") {
    TrainingLoop loop(setup_with(R"({"name": "periodic", "interval": "2 s"})"));
    REQUIRE(loop.start(at(0)).has_value());
    CHECK_FALSE(loop.checkpoint_due());
    loop.committed(at(0));
    loop.step(step_at(1));
    CHECK_FALSE(loop.checkpoint_due());
    loop.step(step_at(20));  // training counts, not the clock
    CHECK(loop.checkpoint_due());
    loop.saved();
    CHECK_FALSE(loop.checkpoint_due());
    CHECK(loop.seen().samples_safe == 32);
    loop.step(step_at(21));
    CHECK(loop.steps_done() == 3);
    loop.rolled_back(at(22));
    CHECK(loop.steps_done() == 2);
    CHECK(loop.samples_done() == 32);
    loop.step(step_at(23));
    CHECK_FALSE(loop.checkpoint_due());
}

TEST_CASE("training loop: a step may use fewer samples than the Plan says", "[training_loop]") {
    TrainingLoopSetup setup = setup_with("");
    setup.samples_per_epoch = 20;
    TrainingLoop loop(setup);
    CHECK_FALSE(loop.start(at(0)).has_value());
    loop.step(step_at(1));
    FinishedStep rest = step_at(2);
    rest.samples = 4;
    loop.step(rest);
    CHECK(loop.samples_done() == 20);
    CHECK(loop.steps_done() == 2);
    while (!loop.finished()) loop.step(step_at(3));
    CHECK(loop.samples_done() == 164);  // the last step reaches the end
    loop.stop(at(4));
}

TEST_CASE("training loop: a table of steps is of one worker's batch where the Plan says so",
          "[training_loop]") {
    TrainingLoopSetup setup = setup_with("");
    CHECK_FALSE(profile_of(setup).batch_grows);  // a step a second at any size
    setup.profile.throughput = {{1, {1, whole_seconds(1)}}, {3, {1, whole_seconds(1)}}};
    CHECK(profile_of(setup).batch_grows);
    // Two workers make 1, 3 samples a second and those between, of a batch twice as large.
    CHECK(time_for(rate_of(profile_of(setup), setup.plan, 2), 1) == whole_seconds(1));
    setup.plan.batch_per_learner = 0;
    setup.plan.global_batch = 16;
    CHECK_FALSE(profile_of(setup).batch_grows);
}

TEST_CASE("training loop: wrong setups are refused with their place", "[training_loop]") {
    const auto complaint = [](const TrainingLoopSetup& setup) -> std::string {
        try {
            const TrainingLoop loop(setup);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    CHECK(complaint(setup_with("")) == "accepted");
    CHECK(complaint(setup_with(R"({"name": "periodic_checkpont"})")) ==
          "training loop: at /policies/0/name: no policy \"periodic_checkpont\" (did you mean "
          "\"periodic_checkpoint\"?)");
    CHECK(complaint(setup_with(R"({"name": "periodic", "intervall": "1 h"})")) ==
          "training loop: at /policies/0: unknown key \"intervall\" (did you mean \"interval\"?)");
    CHECK(complaint(setup_with(R"({"name": "greedy"})")) ==
          "training loop: at /policies: \"greedy\" needs a deadline, and none is set");
    CHECK(complaint(setup_with(R"({"name": "ideal_no_overhead"})")) ==
          "training loop: at /policies: \"ideal_no_overhead\" asks an oracle, and a real run has "
          "none");
    CHECK_THAT(complaint(setup_with(R"({"name": "follow_capacity"})")),
               Catch::Contains("turns the knob \"zone\", which the own training loop cannot turn"));
    CHECK_THAT(complaint(setup_with(R"({"name": "young"}, {"name": "daly"})")),
               Catch::Contains("both turn checkpoint_interval"));
    TrainingLoopSetup setup = setup_with("");
    setup.plan.workers_max = 0;
    CHECK(complaint(setup) == "training loop: the first Plan is not possible: 0 workers");
    setup = setup_with("");
    setup.samples_total = 0;
    CHECK(complaint(setup) == "training loop: no samples to train on");
    setup.policies = "[]";
    CHECK(complaint(setup) == "training loop: at /: expected an object, found []");
}
