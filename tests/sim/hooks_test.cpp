// hooks_test.cpp — a World stops where policies look at steps; workers take time to start.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// Notes each hook that it is asked at, with the steps done by then.
class Noting final : public policies::Policy {
public:
    Noting(std::vector<std::string>& notes, std::int64_t every) : notes_(&notes), every_(every) {}
    std::string_view name() const override { return "noting"; }
    policies::KnobSet knobs() const override { return {policies::Knob::checkpoint_interval}; }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_epoch, policies::Hook::before_step,
                policies::Hook::after_step, policies::Hook::after_epoch};
    }
    std::int64_t every_steps() const override { return every_; }
    policies::Decision before_epoch(const policies::PolicyView& view) override {
        return note("epoch(", view);
    }
    policies::Decision before_step(const policies::PolicyView& view) override {
        return note("step(", view);
    }
    policies::Decision after_step(const policies::PolicyView& view) override {
        return note(")step", view);
    }
    policies::Decision after_epoch(const policies::PolicyView& view) override {
        note(")epoch", view);
        policies::Decision decision;
        decision.checkpoint_interval = hours(view.seen.steps_done);
        return decision;
    }

private:
    policies::Decision note(std::string_view what, const policies::PolicyView& view) {
        notes_->push_back(std::string(what) + std::to_string(view.seen.steps_done));
        return {};
    }
    std::vector<std::string>* notes_;
    std::int64_t every_;
};

// Steps of 10 min, `steps` of them.
sim::JobSpec stepped(std::int64_t steps) {
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = steps;
    spec.profile.throughput = {{1, {1, minutes(10)}}};
    return spec;
}

std::vector<std::string> notes_of(const sim::JobSpec& spec, std::int64_t every) {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}}, hours(9)), price(1))});
    std::vector<std::string> notes;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(std::make_unique<Noting>(notes, every));
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.finished);
    CHECK(result.duration == minutes(10 * spec.samples_total));  // looking costs no time
    return notes;
}

// Looks at every step and wants nothing.
class Looking final : public policies::Policy {
public:
    std::string_view name() const override { return "looking"; }
    policies::KnobSet knobs() const override { return {policies::Knob::workers}; }
    policies::HookSet hooks() const override { return {policies::Hook::after_step}; }
};

// Of 60 steps of 10 min with a checkpoint of a minute every 45 min.
std::int64_t checkpoints_of(bool with_a_look) {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}}, hours(20)), price(1))});
    sim::JobSpec spec = stepped(60);
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    spec.plan.checkpoint_interval = minutes(45);
    sim::WorldSetup world_setup = setup(data, spec);
    if (with_a_look) world_setup.policies.push_back(std::make_unique<Looking>());
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.finished);
    return result.checkpoints;
}

}  // namespace

TEST_CASE("world hooks: a look at every step does not put a checkpoint off", "[hooks]") {
    CHECK(checkpoints_of(false) > 10);
    CHECK(checkpoints_of(true) == checkpoints_of(false));
}

TEST_CASE("world hooks: each step and epoch is asked about in KungFu's order", "[hooks]") {
    sim::JobSpec spec = stepped(4);
    spec.samples_per_epoch = 2;
    const std::vector<std::string> expected{"epoch(0", "step(0",  ")step1",  "step(1",
                                            ")step2",  ")epoch2", "epoch(2", "step(2",
                                            ")step3",  "step(3",  ")step4",  ")epoch4"};
    CHECK(notes_of(spec, 1) == expected);
}

TEST_CASE("world hooks: steps that nobody looks at are made in one go", "[hooks]") {
    sim::JobSpec spec = stepped(10);
    spec.samples_per_epoch = 5;
    const std::vector<std::string> expected{"epoch(0", "step(0", ")step4", "step(4",  ")epoch5",
                                            "epoch(5", ")step8", "step(8", ")epoch10"};
    CHECK(notes_of(spec, 4) == expected);
}

TEST_CASE("world spawn: the others train while a new worker starts", "[hooks]") {
    // One machine at once, a second after 30 min; its worker needs 15 min, a resize 5.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}, {minutes(30), 2}}, hours(9)), price(1))});
    sim::JobSpec spec = job(hours(2), 1, 2);
    spec.profile.throughput = {{1, {1, nanoseconds(1)}}, {2, {2, nanoseconds(1)}}};
    spec.profile.spawn = minutes(15);
    spec.profile.restart = spec.profile.resize = minutes(5);
    const records::RunResult result =
        run(data, spec, {{"spot_only", "{}"}, {"follow_capacity", "{}"}});
    CHECK(result.finished);
    // 0–15 spawn, –20 restart, –45 alone (25 min of work), –50 resize, the other 95 min by two.
    CHECK(result.duration == minutes(50) + seconds(95 * 30));
    CHECK(result.transitions == 2);
    CHECK(result.causes.time_of(records::Cause::transition) == minutes(5 + 2 * 5 + 15 + 15));
    CHECK(result.causes.time_of(records::Cause::idle) == Duration{});
}

TEST_CASE("world resize: growing takes as long as starting a worker, shrinking nothing like it",
          "[hooks][golden]") {
    // KungFu's artifact, figure 7: 20.39 s from one worker to two (process and framework start),
    // 40.12 ms back. Its workers stand still meanwhile; here they train until the new one joins.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 0}}, hours(9)), price(1))});
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = 100'000;
    spec.profile.throughput = {{1, {1, milliseconds(10)}}};  // a step, whatever the size
    spec.profile.resize = milliseconds(40);
    spec.profile.spawn = seconds(20.35);
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::on_demand, 1, Price{}}};
    spec.instances_max = 2;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.keep_timeline = true;
    world_setup.policies.push_back(
        policy("scheduled_resize", R"({"schedule": "1:1000,2:5000,1:1000"})"));
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.finished);
    std::vector<double> changed_s;
    std::int32_t workers = 0;
    for (const records::TimelineRow& row : result.timeline) {
        if (row.phase != policies::JobPhase::running || row.workers == workers) continue;
        workers = row.workers;
        changed_s.push_back(to_seconds(row.at.since_start()));
    }
    REQUIRE(changed_s.size() == 3);
    const double grow_s = changed_s[1] - changed_s[0] - 10;  // after 1000 steps
    CHECK(grow_s == Approx(20.39).margin(0.02));
    // 6000 steps and the change to two before it.
    CHECK(changed_s[2] - changed_s[0] - 60 - 0.04 == Approx(0.04012).margin(0.001));
}

TEST_CASE("world noise scale: the curve is shown as measured, and workers follow it", "[hooks]") {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 4}}, hours(9)), price(1))});
    sim::JobSpec spec = stepped(40);
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, 1, Price{}}};
    spec.plan.workers_max = 1;
    spec.instances_max = 3;
    spec.samples_per_epoch = 10;
    spec.noise_scale = {{0, 10}, {20, 10}, {40, 50}};  // level for two epochs, then it rises
    const records::RunResult result = run(data, spec, {{"noise_scale_resize", "{}"}});
    CHECK(result.finished);
    CHECK(result.launches == 2);  // after the third epoch; after the fourth the work is done
    CHECK(sim::noise_scale_at(spec.noise_scale, 30) == Approx(30));
    CHECK(sim::noise_scale_at(spec.noise_scale, 99) == Approx(50));
}

}  // namespace ukemi
