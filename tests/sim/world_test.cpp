#include "sim/job/world.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// Wants what the test says, at the hook or event it says.
class Scripted final : public policies::Policy {
public:
    Scripted(
        policies::KnobSet knobs,
        std::function<policies::Decision(policies::EventKind, const policies::PolicyView&)> rule)
        : knobs_(knobs), rule_(std::move(rule)) {}
    std::string_view name() const override { return "scripted"; }
    policies::KnobSet knobs() const override { return knobs_; }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_train, policies::Hook::on_event};
    }
    policies::Decision before_train(const policies::PolicyView& view) override {
        return rule_(policies::EventKind::none, view);
    }
    policies::Decision on_event(policies::EventKind kind,
                                const policies::PolicyView& view) override {
        return rule_(kind, view);
    }
    void discarded(const policies::Plan&, std::string_view why) override { discarded_why = why; }

    std::string discarded_why;

private:
    policies::KnobSet knobs_;
    std::function<policies::Decision(policies::EventKind, const policies::PolicyView&)> rule_;
};

sim::MarketData flickering() {
    return market({zone("a",
                        capacity({{minutes(0), 2},
                                  {minutes(25), 1},
                                  {minutes(40), 2},
                                  {minutes(70), 0},
                                  {minutes(75), 2}},
                                 hours(2)),
                        price(1))},
                  sim::AfterLastRow::repeat);
}

}  // namespace

TEST_CASE("world: equal inputs give equal hashes, another seed another run", "[world]") {
    const sim::MarketData data = flickering();
    sim::JobSpec spec = job(hours(9), 1, 2);
    spec.profile.throughput = {{1, {1, nanoseconds(1)}}, {2, {19, nanoseconds(10)}}};
    spec.profile.restart = spec.profile.resize = minutes(3);
    const auto once = [&] {
        return run(data, spec, {{"spot_only", "{}"}, {"follow_capacity", "{}"}});
    };
    const records::RunResult first = once();
    const records::RunResult second = once();
    CHECK(first.finished);
    CHECK(first.event_hash == second.event_hash);
    spec.profile.restart = minutes(4);
    CHECK(once().event_hash != first.event_hash);
}

TEST_CASE("world: a change of Plan waits for the step boundary", "[world]") {
    // Steps of 10 min. At 25 min the capacity rises; the group may only grow at 30 min.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}, {minutes(25), 2}}, hours(9)), price(1))});
    sim::JobSpec spec = job(hours(1), 1, 2);
    spec.samples_total = 6;
    spec.profile.throughput = {{1, {1, minutes(10)}}};
    std::vector<std::pair<Instant, std::string>> happened;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(policy("spot_only"));
    world_setup.policies.push_back(policy("follow_capacity"));
    world_setup.on_event = [&](Instant when, sim::Phase, const sim::Event& event) {
        happened.emplace_back(when, sim::event_kind(event));
    };
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.duration == hours(1));  // two machines are no faster here
    CHECK(result.causes.time_of(records::Cause::wasted) == Duration{});
    const std::pair<Instant, std::string> due{at(minutes(30)), "plan_due"};
    CHECK(std::ranges::find(happened, due) != happened.end());
}

TEST_CASE("world: a Plan is discarded if an instance is lost before the boundary", "[world]") {
    // Steps of 10 min. The policy wants another checkpoint interval when the price changes at
    // 21 min, to be committed at 30 min; the machine is lost at 26 min.
    traces::PriceSeries prices{
        {{Instant{}, dollars_per_hour(1)}, {at(minutes(21)), dollars_per_hour(2)}}, at(hours(1))};
    const sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(26), 0}, {minutes(50), 1}}, hours(3)), prices)});
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = 6;
    spec.profile.throughput = {{1, {1, minutes(10)}}};
    auto owned =
        std::make_unique<Scripted>(policies::KnobSet{policies::Knob::checkpoint_interval},
                                   [](policies::EventKind kind, const policies::PolicyView&) {
                                       policies::Decision decision;
                                       if (kind == policies::EventKind::price_changed)
                                           decision.checkpoint_interval = minutes(5);
                                       return decision;
                                   });
    const Scripted& scripted = *owned;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(std::move(owned));
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.discarded == 1);
    CHECK(result.plans == 0);
    CHECK(scripted.discarded_why == "an instance was lost before the step boundary");
    CHECK(result.finished);
}

TEST_CASE("world: losing one of a replicated group loses no finished step, of a sharded one all",
          "[world]") {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 2}, {minutes(30), 1}}, hours(9)), price(1))});
    sim::JobSpec spec = job(hours(1), 1, 2);
    spec.profile.throughput = {{1, {1, nanoseconds(1)}}};  // two are no faster than one
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    SECTION("replicated") {
        const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
        CHECK(result.duration == hours(1));
        CHECK(result.causes.time_of(records::Cause::redone) == Duration{});
    }
    SECTION("sharded") {
        spec.profile.sharded = true;
        const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
        CHECK(result.duration == minutes(90));
        CHECK(result.causes.time_of(records::Cause::redone) == minutes(30));
    }
}

TEST_CASE("world: a save before a loss that has nothing to add is not begun again", "[world]") {
    // Steps of 45 min; the loss at 60 min is announced at 30. Saving costs nothing, so after the
    // save at 45 min there is time for another, and no step to put into it.
    sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(60), 0}, {minutes(70), 1}}, hours(9)), price(1))});
    data.notice = minutes(30);
    sim::prepare(data);
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = 3;
    spec.profile.throughput = {{1, {1, minutes(45)}}};
    spec.profile.lossless = false;
    spec.plan.checkpoint_on_notice = true;
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.finished);
    CHECK(result.checkpoints == 1);
    CHECK(result.duration == minutes(70 + 2 * 45));
    CHECK(result.causes.time_of(records::Cause::redone) == Duration{});
}

TEST_CASE("world: a gang waits for all its machines, and pays for none meanwhile", "[world]") {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 3}, {minutes(20), 4}}, hours(9)), price(1))});
    const records::RunResult result = run(data, job(hours(1), 4, 4), {{"spot_only", "{}"}});
    CHECK(result.duration == minutes(80));
    CHECK(result.held == 4 * hours(1));
}

TEST_CASE("world: which machine of a zone is taken is drawn by the seed", "[world]") {
    // Three for an hour, then two: all the same to the bill, but the event log names the victim.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 3}, {minutes(60), 2}}, hours(9)), price(1))});
    const sim::JobSpec spec = job(hours(2), 1, 3);
    std::vector<std::string> victims;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        sim::WorldSetup world_setup = setup(data, spec);
        world_setup.seed = seed;
        world_setup.policies.push_back(policy("spot_only"));
        world_setup.on_event = [&](Instant, sim::Phase, const sim::Event& event) {
            if (std::holds_alternative<sim::InstanceLost>(event)) {
                victims.push_back(fmt::format("{}", sim::event_subject(event)));
            }
        };
        sim::World world(std::move(world_setup));
        world.run();
    }
    CHECK(victims.size() == 20);
    for (const std::string instance : {"0", "1", "2"}) {
        CHECK(std::ranges::count(victims, instance) > 0);
    }
}

TEST_CASE("world: zones that lose a machine at one moment draw their victims apart", "[world]") {
    const auto falls = capacity({{minutes(0), 3}, {minutes(60), 2}}, hours(9));
    const sim::MarketData data = market({zone("a", falls, price(1)), zone("b", falls, price(1))});
    sim::JobSpec spec = job(hours(2), 1, 6);
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, 3, Price{}},
                       {ZoneId{1}, 0, policies::Market::spot, 3, Price{}}};
    int alike = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<std::int64_t> victims;  // 0, 1 or 2 of "a", then 3, 4 or 5 of "b"
        sim::WorldSetup world_setup = setup(data, spec);
        world_setup.seed = seed;
        world_setup.policies.push_back(policy("spot_only"));
        world_setup.on_event = [&](Instant, sim::Phase, const sim::Event& event) {
            if (std::holds_alternative<sim::InstanceLost>(event)) {
                victims.push_back(sim::event_subject(event));
            }
        };
        sim::World world(std::move(world_setup));
        world.run();
        REQUIRE(victims.size() == 2);
        if (victims[1] - victims[0] == 3) ++alike;
    }
    CHECK(alike < 20);
    CHECK(alike > 0);  // one in three, by chance
}

TEST_CASE("world: a policy that asks again for ever ends with a named error", "[world]") {
    const sim::MarketData data = flickering();
    sim::JobSpec spec = job(hours(1));
    spec.limits.events_max = 10'000;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(
        std::make_unique<Scripted>(policies::KnobSet{policies::Knob::market},
                                   [](policies::EventKind, const policies::PolicyView&) {
                                       policies::Decision decision;
                                       decision.ask_again_in = nanoseconds(1);
                                       return decision;
                                   }));
    sim::World world(std::move(world_setup));
    CHECK_THROWS_AS(world.run(), sim::RunLimitReached);
}

TEST_CASE("world: a policy that asks again at once and for ever is named", "[world]") {
    const sim::MarketData data = flickering();
    sim::JobSpec spec = job(hours(1));
    spec.limits.events_per_instant_max = 1'000;
    spec.give_up_at = at(hours(1));
    const auto asked_every = [&](Duration again_in) {
        sim::WorldSetup world_setup = setup(data, spec);
        world_setup.policies.push_back(
            std::make_unique<Scripted>(policies::KnobSet{policies::Knob::market},
                                       [&](policies::EventKind, const policies::PolicyView&) {
                                           policies::Decision decision;
                                           decision.ask_again_in = again_in;
                                           return decision;
                                       }));
        sim::World(std::move(world_setup)).run();
    };
    CHECK_THROWS_WITH(asked_every(nanoseconds(1)),
                      Catch::Contains("scripted asked to be asked again 1000 times in a row") &&
                          Catch::Contains("raise /limits/events_per_instant_max"));
    CHECK_NOTHROW(asked_every(milliseconds(500)));
}

TEST_CASE("world: who wants a run no longer is asked in its midst", "[world]") {
    const sim::MarketData data = flickering();
    const sim::JobSpec spec = job(hours(1));
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(
        std::make_unique<Scripted>(policies::KnobSet{policies::Knob::market},
                                   [](policies::EventKind, const policies::PolicyView&) {
                                       policies::Decision decision;
                                       decision.ask_again_in = milliseconds(10);
                                       return decision;
                                   }));
    int looks = 0;
    world_setup.stopped = [&] { return ++looks == 10; };
    sim::World world(std::move(world_setup));
    CHECK_THROWS_AS(world.run(), sim::RunStopped);
    CHECK(looks == 10);
}

TEST_CASE("world: a run that does not get on gives up when it was told to", "[world]") {
    // One machine comes and goes for ever, and the job needs two.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 0}, {minutes(30), 1}}, hours(1)), price(1))},
               sim::AfterLastRow::repeat);
    sim::JobSpec spec = job(hours(1), 2, 2);
    spec.give_up_at = at(hours(7));
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK_FALSE(result.finished);
    CHECK_FALSE(result.stuck);
    CHECK_FALSE(result.deadline_met);
    CHECK(result.duration == hours(7));
    CHECK(result.cost == Dollars{});
}

TEST_CASE("world: a last row that is a rise brings the machines back for good", "[world]") {
    // An hour of work before the loss, three more from 2 h on.
    sim::MarketData data = market(
        {zone("a", capacity({{hours(0), 4}, {hours(1), 0}, {hours(2), 4}}, hours(2)), price(1))});
    data.notice = minutes(2);
    sim::prepare(data);
    const records::RunResult result = run(data, job(hours(4), 4, 4), {{"spot_only", "{}"}});
    CHECK(result.finished);
    CHECK(result.duration == hours(5));
}

TEST_CASE("world: a run that cannot go on any more ends, and says so", "[world]") {
    // Nothing comes after 1 h, where the only machine goes.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}, {minutes(60), 0}}, hours(1)), price(1))});
    sim::JobSpec spec = job(hours(3));
    SECTION("without a clock it ends where its last machine goes") {
        const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
        CHECK_FALSE(result.finished);
        CHECK(result.stuck);
        CHECK(result.duration == hours(1));
        CHECK(result.cost == dollars(1));
    }
    SECTION("policies that look at nothing but how it trains do not keep it waiting") {
        sim::WorldSetup world_setup = setup(data, spec);
        world_setup.policies.push_back(
            std::make_unique<Scripted>(policies::KnobSet{policies::Knob::checkpoint_interval},
                                       [](policies::EventKind, const policies::PolicyView&) {
                                           policies::Decision decision;
                                           decision.ask_again_in = minutes(1);
                                           return decision;
                                       }));
        sim::World world(std::move(world_setup));
        const records::RunResult result = world.run();
        CHECK(result.stuck);
        CHECK(result.duration == hours(1));
    }
    SECTION("with a clock it ends at the first tick that changes nothing") {
        spec.tick = minutes(10);
        const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
        CHECK(result.stuck);
        CHECK(result.duration == minutes(70));  // at 60 it no longer wants spot
    }
    SECTION("not before the deadline is over: a clock may tell a policy that it is time") {
        spec.tick = minutes(10);
        spec.deadline = at(hours(6));
        CHECK(run(data, spec, {{"greedy", "{}"}}).deadline_met);
        const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
        CHECK(result.stuck);
        CHECK(result.duration == hours(6) + minutes(10));
    }
    SECTION("not while a policy asks again by itself") {
        spec.deadline = at(hours(6));
        const records::RunResult result = run(data, spec, {{"greedy", "{}"}});
        CHECK(result.deadline_met);
        CHECK_FALSE(result.stuck);
    }
    SECTION("half a gang that waits is given back") {
        sim::JobSpec gang = job(hours(3), 2, 2);
        const sim::MarketData half =
            market({zone("a", capacity({{minutes(0), 2}, {minutes(60), 1}}, hours(1)), price(1))});
        const records::RunResult result = run(half, gang, {{"spot_only", "{}"}});
        CHECK(result.stuck);
        CHECK(result.duration == hours(1));
        CHECK(result.cost == dollars(2));
    }
}

TEST_CASE("world: a run whose launches explode ends with a named error", "[world]") {
    const sim::MarketData data = flickering();
    sim::JobSpec spec = job(hours(9));
    spec.launches_max = 100;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(std::make_unique<Scripted>(
        policies::KnobSet{policies::Knob::market},
        [](policies::EventKind, const policies::PolicyView& view) {
            policies::Decision decision;
            const bool held = view.seen.on_demand_held > 0;
            decision.market = held ? policies::Market::none : policies::Market::on_demand;
            decision.ask_again_in = milliseconds(1);
            return decision;
        }));
    sim::World world(std::move(world_setup));
    CHECK_THROWS_WITH(world.run(), Catch::StartsWith("run limit reached: launches_max of 100 ") &&
                                       Catch::Contains("raise /limits/launches_max"));
}

TEST_CASE("world: with a clock policies are asked at its ticks and the end is noticed there",
          "[world]") {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}}, hours(9)), price(1))});
    sim::JobSpec spec = job(minutes(55));
    spec.tick = minutes(10);
    SECTION("before the decision") {
        const records::RunResult result =
            run(data, spec, {{"greedy", R"({"safety_net":"simple"})"}});
        CHECK(result.duration == minutes(60));
        CHECK(result.ticks == 7);  // 0, 10, …, 60
        CHECK(result.cost == dollars(1));
        CHECK(result.causes.time_of(records::Cause::idle) == minutes(5));
    }
    SECTION("after the decision: what it asked for is held one more tick") {
        spec.completion_after_decision = true;
        spec.deadline = at(hours(8));
        const records::RunResult result =
            run(data, spec, {{"greedy", R"({"safety_net":"simple"})"}});
        CHECK(result.duration == minutes(60));
        CHECK(result.ticks == 8);
        CHECK(result.held == minutes(70));
    }
}

TEST_CASE("world: memory does not follow simulated time", "[world]") {
    // A timeline is kept only when asked for; the ledger uses its entries again.
    const sim::MarketData data = flickering();
    for (const std::int64_t hours_of_work : {10, 1000}) {
        sim::JobSpec spec = job(hours(hours_of_work), 1, 2);
        spec.give_up_at = at(days(3000));
        sim::WorldSetup world_setup = setup(data, spec);
        world_setup.policies.push_back(policy("spot_only"));
        sim::World world(std::move(world_setup));
        const records::RunResult result = world.run();
        CHECK(result.finished);
        CHECK(result.timeline.empty());
        CHECK(world.bytes_held() < 300'000);
    }
}

}  // namespace ukemi
