// transition_costs_test.cpp — transitions cost what their phases say, and who trains on trains on.
#include "sim/job/transition_costs.hpp"

#include <catch2/catch.hpp>

#include "sim/job/transition_systems.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// A group that is one machine for ten minutes and two for ten more, then one again.
constexpr std::string_view one_two_one = R"({"schedule": "1:600,2:600,1:600"})";

// Steps of a second each, whatever the size; the system's costs; nothing is ever lost.
sim::JobSpec resized_job(const sim::TransitionCosts& costs, std::int32_t most = 2) {
    sim::JobSpec spec = job(hours(1), 1, 1);
    spec.samples_total = 3600;
    spec.profile.throughput = {{1, {1, whole_seconds(1)}}};
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::on_demand, 1, Price{}}};
    spec.instances_max = most;
    spec.transition = costs;
    spec.profile.spawn = costs.overlapped_spawn;
    return spec;
}

sim::MarketData endless_market() {
    return market({zone("a", capacity({{minutes(0), 0}}, hours(9)), price(1))});
}

records::RunResult resized(std::string_view system, bool saved = false) {
    static const sim::MarketData data = endless_market();
    sim::JobSpec spec = resized_job(sim::find_transition_system(system)->costs());
    if (saved) {
        spec.profile.lossless = false;
        spec.profile.checkpoint = whole_seconds(10);
        spec.profile.restore = whole_seconds(4);
    }
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.keep_timeline = true;
    world_setup.policies.push_back(policy("scheduled_resize", one_two_one));
    sim::World world(std::move(world_setup));
    return world.run();
}

Duration standstill(const records::RunResult& result, policies::TransitionPhase phase) {
    return records::cost_of(*result.phases, phase).standstill;
}
Duration instance_time(const records::RunResult& result, policies::TransitionPhase phase) {
    return records::cost_of(*result.phases, phase).instance_time;
}

}  // namespace

TEST_CASE("transition costs: KungFu's change takes 20.39 s up and 40 ms down",
          "[transition][golden]") {
    const records::RunResult result = resized("kungfu");
    CHECK(result.finished);
    CHECK(result.transitions == 3);
    // The first group starts as a new worker does; then one comes, and one goes.
    CHECK(standstill(result, policies::TransitionPhase::spawn) == seconds(2 * (20.39 - 0.04012)));
    CHECK(standstill(result, policies::TransitionPhase::rendezvous) == seconds(3 * 0.04012));
    CHECK(result.duration == seconds(3600 + 2 * 20.39 + 0.04012));
    CHECK(instance_time(result, policies::TransitionPhase::spawn) ==
          seconds(3 * (20.39 - 0.04012)));
}

TEST_CASE("transition costs: Or et al. spawn while the others train", "[transition][golden]") {
    const records::RunResult result = resized("or_et_al");
    CHECK(result.finished);
    CHECK(standstill(result, policies::TransitionPhase::spawn) == Duration{});
    CHECK(instance_time(result, policies::TransitionPhase::spawn) == whole_seconds(60));
    CHECK(standstill(result, policies::TransitionPhase::rendezvous) == 3 * seconds(2.7));
    // Only the first worker's start is waited for.
    CHECK(result.duration == seconds(3600 + 30 + 3 * 2.7));
    // The worker that was starting meanwhile is not called idle.
    CHECK(result.causes.time_of(records::Cause::transition) == seconds(60 + 2.7 + 2 * 2.7 + 2.7));
}

TEST_CASE("transition costs: a detached worker that kept its machine is back sooner",
          "[transition]") {
    const sim::MarketData data = endless_market();
    sim::JobSpec spec = resized_job(sim::find_transition_system("or_et_al")->costs());
    spec.plan.fleet.front().count = 2;  // held all the time
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.keep_timeline = true;
    // Turns the workers alone, as throughput_resize does.
    class Workers final : public policies::Policy {
    public:
        std::string_view name() const override { return "workers"; }
        policies::KnobSet knobs() const override { return {policies::Knob::workers}; }
        policies::HookSet hooks() const override {
            return {policies::Hook::before_train, policies::Hook::after_step};
        }
        std::int64_t every_steps() const override { return 600; }
        policies::Decision before_train(const policies::PolicyView&) override { return resize(2); }
        policies::Decision after_step(const policies::PolicyView& view) override {
            return resize(view.plan.workers_max == 2 ? 1 : 2);
        }

    private:
        static policies::Decision resize(std::int32_t workers) {
            policies::Decision decision;
            decision.workers_max = workers;
            return decision;
        }
    };
    world_setup.policies.push_back(std::make_unique<Workers>());
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.finished);
    // 2, 1, 2, 1, 2, 1: two spawns at the start, then two that are attached again.
    CHECK(result.transitions == 6);
    CHECK(records::cost_of(*result.phases, policies::TransitionPhase::spawn).count == 4);
    CHECK(instance_time(result, policies::TransitionPhase::spawn) == seconds(2 * 30 + 2 * 2.3));
    Instant asked_again;
    for (const records::TimelineRow& row : result.timeline) {
        if (row.at.since_start() > seconds(1235) && row.at.since_start() < seconds(1240) &&
            row.phase == policies::JobPhase::transition) {
            asked_again = row.at;
        }
    }
    CHECK(asked_again > Instant{});
}

TEST_CASE("transition costs: checkpoint and restart saves, ends everybody and restores",
          "[transition]") {
    const records::RunResult result = resized("checkpoint_restart", true);
    CHECK(result.finished);
    CHECK(result.transitions == 3);
    CHECK(result.checkpoints == 2);
    CHECK(standstill(result, policies::TransitionPhase::drain) == whole_seconds(20));
    CHECK(standstill(result, policies::TransitionPhase::transfer) == whole_seconds(8));
    const policies::TimeBySize spawn =
        sim::find_transition_system("checkpoint_restart")->costs().changes[0].spawn;
    CHECK(standstill(result, policies::TransitionPhase::spawn) ==
          2 * policies::time_for_size(spawn, 1) + policies::time_for_size(spawn, 2));
    CHECK(result.causes.time_of(records::Cause::redone) == Duration{});
}

namespace {

// Two machines from 600 s on, one from 1200 s on, whatever was done until then.
class ByTheClock final : public policies::Policy {
public:
    std::string_view name() const override { return "by_the_clock"; }
    policies::KnobSet knobs() const override {
        return {policies::Knob::count, policies::Knob::workers};
    }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_train, policies::Hook::on_event};
    }
    policies::Decision before_train(const policies::PolicyView&) override {
        policies::Decision decision;
        decision.ask_again_in = whole_seconds(600);
        return decision;
    }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        const Duration now = view.seen.now.since_start();
        policies::Decision decision =
            policies::resized_to(now >= whole_seconds(600) && now < whole_seconds(1200) ? 2 : 1);
        if (now < whole_seconds(1200)) {
            const bool early = now < whole_seconds(600);
            decision.ask_again_in = whole_seconds(early ? 600 : 1200) - now;
        }
        return decision;
    }
};

records::RunResult by_the_clock(std::string_view system) {
    const sim::MarketData data = endless_market();
    sim::JobSpec spec = resized_job(sim::find_transition_system(system)->costs());
    spec.profile.lossless = false;
    spec.profile.checkpoint = whole_seconds(10);
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(std::make_unique<ByTheClock>());
    sim::World world(std::move(world_setup));
    return world.run();
}

}  // namespace

TEST_CASE("transition costs: by trial and error every change begins the work anew",
          "[transition]") {
    const records::RunResult tried = by_the_clock("trial_and_error");
    const records::RunResult saved = by_the_clock("checkpoint_restart");
    CHECK(tried.finished);
    CHECK(saved.finished);
    CHECK(tried.checkpoints == 0);
    CHECK(saved.checkpoints == 2);
    CHECK(standstill(tried, policies::TransitionPhase::drain) == Duration{});
    CHECK(tried.transitions == 3);
    // All of the hour's work is done after the last change; what was done before is done again.
    CHECK(tried.duration > seconds(1200 + 3600));
    CHECK(tried.causes.time_of(records::Cause::redone) > whole_seconds(500));
    CHECK(saved.causes.time_of(records::Cause::redone) == Duration{});
    CHECK(saved.duration < seconds(3600 + 200));
}

TEST_CASE("transition costs: the model is sent over shared links", "[transition]") {
    const sim::StateTransfer from_one{mebibytes(1000), gigabits_per_second(8), milliseconds(1),
                                      false};
    const double alone_s = 1000 * 1048576.0 / 1e9;
    CHECK(to_seconds(sim::state_transfer_time(from_one, 4, 1)) == Approx(alone_s + 0.001));
    CHECK(to_seconds(sim::state_transfer_time(from_one, 4, 3)) == Approx(3 * alone_s + 0.001));
    sim::StateTransfer from_all = from_one;
    from_all.from_all = true;
    // Each of three joiners has its own link; four holders share the sending.
    CHECK(to_seconds(sim::state_transfer_time(from_all, 4, 3)) == Approx(alone_s + 0.001));
    CHECK(to_seconds(sim::state_transfer_time(from_all, 2, 4)) == Approx(2 * alone_s + 0.001));
    CHECK(sim::state_transfer_time(from_all, 4, 0) == Duration{});
}

TEST_CASE("transition costs: each phase is a line of the timeline, and policies see it",
          "[transition]") {
    const records::RunResult result = resized("kungfu");
    std::vector<policies::TransitionPhase> seen;
    for (const records::TimelineRow& row : result.timeline) {
        if (!row.transition_phase || *row.transition_phase == policies::TransitionPhase::none)
            continue;
        if (seen.empty() || seen.back() != *row.transition_phase) {
            seen.push_back(*row.transition_phase);
        }
    }
    using enum policies::TransitionPhase;
    CHECK(seen == std::vector{spawn, rendezvous, spawn, rendezvous});
    const std::string csv = records::to_csv(result.timeline, result.samples_total);
    CHECK(csv.find(",transition_phase\n") != std::string::npos);
    CHECK(csv.find(",rendezvous\n") != std::string::npos);
}

TEST_CASE("transition costs: an announced loss counts its notice and the checkpoint before it",
          "[transition]") {
    sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(20), 0}, {minutes(40), 1}}, hours(9)), price(1))});
    data.notice = minutes(2);
    sim::prepare(data);
    sim::JobSpec spec = resized_job(sim::find_transition_system("kungfu")->costs(), 1);
    spec.plan.fleet.front().market = policies::Market::spot;
    spec.profile.lossless = false;
    spec.profile.checkpoint = whole_seconds(10);
    const records::RunResult result =
        run(data, spec, {{"spot_only", "{}"}, {"checkpoint_on_notice", "{}"}});
    CHECK(result.finished);
    CHECK(instance_time(result, policies::TransitionPhase::notice) == minutes(2));
    CHECK(standstill(result, policies::TransitionPhase::notice) == Duration{});
    CHECK(standstill(result, policies::TransitionPhase::drain) == whole_seconds(10));
}

// A gang of three that is one short saves what it has and gives its machines back.
TEST_CASE("transition costs: those that are left of a gang save its model, and are paid to",
          "[transition]") {
    const sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 3}, {minutes(20), 2}, {minutes(60), 3}}, hours(9)), price(1))});
    sim::JobSpec spec = resized_job(sim::find_transition_system("kungfu")->costs(), 3);
    spec.workers_min = spec.plan.workers_max = 3;
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, 3, Price{}}};
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(10);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.finished);
    CHECK(result.checkpoints == 1);
    CHECK(standstill(result, policies::TransitionPhase::drain) == minutes(10));
    CHECK(instance_time(result, policies::TransitionPhase::drain) == 2 * minutes(10));
    CHECK(result.causes.time_of(records::Cause::checkpoint) == 2 * minutes(10));
    CHECK(result.causes.time_of(records::Cause::idle) == Duration{});

    // The second of them goes halfway; the third begins anew, alone.
    const sim::MarketData falling = market({zone(
        "a",
        capacity({{minutes(0), 3}, {minutes(20), 2}, {minutes(25), 1}, {minutes(60), 3}}, hours(9)),
        price(1))});
    const records::RunResult fewer = run(falling, spec, {{"spot_only", "{}"}});
    CHECK(fewer.finished);
    CHECK(standstill(fewer, policies::TransitionPhase::drain) == minutes(15));
    CHECK(instance_time(fewer, policies::TransitionPhase::drain) == minutes(2 * 5 + 10));
    CHECK(fewer.causes.time_of(records::Cause::checkpoint) == minutes(2 * 5 + 10));
    CHECK(fewer.causes.time_of(records::Cause::idle) == Duration{});
}

TEST_CASE("transition systems: every row has its source, and its names are unique",
          "[transition]") {
    std::vector<std::string_view> names;
    for (const sim::TransitionSystem& system : sim::all_transition_systems()) {
        CAPTURE(system.name);
        CHECK(sim::find_transition_system(system.name) == &system);
        CHECK_FALSE(system.source.empty());
        const sim::TransitionCosts costs = system.costs();
        CHECK(records::sum_of(sim::phase_times(costs, sim::GroupChange::start, 8, 0)) > Duration{});
        for (const sim::ChangeCosts& change : costs.changes) {
            for (const policies::TimeBySize* times :
                 {&change.spawn, &change.rendezvous, &change.warm_up}) {
                CHECK(std::ranges::adjacent_find(*times, std::greater_equal{},
                                                 &policies::SizedTime::workers) == times->end());
            }
        }
        names.push_back(system.name);
    }
    std::ranges::sort(names);
    CHECK(std::ranges::adjacent_find(names) == names.end());
    CHECK(sim::find_transition_system("nobody's") == nullptr);
}

TEST_CASE("transition systems: the published numbers", "[transition][golden]") {
    const auto total = [](std::string_view name, sim::GroupChange change, std::int32_t workers) {
        return to_seconds(records::sum_of(
            sim::phase_times(sim::find_transition_system(name)->costs(), change, workers, 1)));
    };
    CHECK(total("kungfu", sim::GroupChange::grow, 2) == Approx(20.39));
    CHECK(total("kungfu", sim::GroupChange::shrink, 1) == Approx(0.04012));
    CHECK(total("or_et_al", sim::GroupChange::grow, 8) == Approx(2.7));
    CHECK(total("parcae", sim::GroupChange::grow, 16) == Approx(42.892));
    CHECK(total("parcae", sim::GroupChange::shrink, 32) == Approx(95.427));
    CHECK(total("elasticflow", sim::GroupChange::start, 64) == Approx(29 + 2 * 7));
    CHECK(total("elasticflow", sim::GroupChange::start, 512) == Approx(54 + 2 * 10));
    CHECK(total("pollux", sim::GroupChange::start, 4) == Approx(30));
    CHECK(total("sia_imagenet", sim::GroupChange::grow, 4) == Approx(250));
    CHECK(total("bamboo", sim::GroupChange::shrink, 47) == 0);
}

}  // namespace ukemi
