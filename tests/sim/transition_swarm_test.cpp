// transition_swarm_test.cpp — workers die in every phase of every transition, and Plans stay whole.
//
// Each world is run once undisturbed to learn when its phases are; then again with a capacity that
// falls in the midst of one of them. Whoever watches sees every question, commit and discard: the
// Plan of the Controller is always the last one committed, versions rise by one, and what was
// discarded never comes to be.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/transition_systems.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// Compares what policies are shown with what was committed before.
class Watch final : public ControllerLog {
public:
    explicit Watch(const Plan& first) : committed_(first) {}
    void shown(const Plan& plan) {
        if (!(plan == committed_)) broken = "a policy was shown a Plan that nobody committed";
    }
    void question(const QuestionRecord& record) override {
        if (record.proposed != nullptr) proposed_ = *record.proposed;
    }
    void committed(PlanVersion version) override {
        if (!proposed_ || proposed_->version != version)
            broken = "a commit of what nobody proposed";
        if (index_of(version) != index_of(committed_.version) + 1) broken = "versions skip";
        committed_ = *std::exchange(proposed_, std::nullopt);
        ++commits;
    }
    void discarded(PlanVersion version, std::string_view) override {
        if (!proposed_ || proposed_->version != version) broken = "a discard of nothing";
        proposed_.reset();  // the old Plan stands, which the next question shows
        ++discards;
    }
    std::string broken;
    std::int64_t commits = 0;
    std::int64_t discards = 0;

private:
    Plan committed_;
    std::optional<Plan> proposed_;
};

// Resizes and turns the batch at random steps and events.
class Restless final : public Policy {
public:
    explicit Restless(Watch& watch) : watch_(&watch) {}
    std::string_view name() const override { return "restless"; }
    KnobSet knobs() const override {
        return {Knob::count, Knob::workers, Knob::checkpoint_interval, Knob::machines};
    }
    HookSet hooks() const override { return {Hook::on_event, Hook::after_step}; }
    std::int64_t every_steps() const override { return 7; }
    Decision on_event(EventKind, const PolicyView& view) override { return anything(view, 0.3); }
    Decision after_step(const PolicyView& view) override { return anything(view, 0.2); }

private:
    Decision anything(const PolicyView& view, double chance) {
        watch_->shown(view.plan);
        if (!view.random.chance(chance)) return {};
        const auto size = static_cast<std::int32_t>(view.random.integer(1, view.instances_max));
        Decision decision = resized_to(size);
        if (view.random.chance(0.3)) decision.count = view.instances_max;  // keeps machines
        if (view.random.chance(0.3)) {
            decision.checkpoint_interval = minutes(view.random.integer(1, 30));
        }
        if (view.random.chance(0.3) && !view.seen.worker_views.empty()) {
            decision.replaced = {view.seen.worker_views.back().instance};
        }
        return decision;
    }

    Watch* watch_;
};

struct SwarmWorld {
    MarketData market;
    JobSpec job;
    std::string system;
};

SwarmWorld swarm_world(std::uint64_t seed) {
    RandomStream draw(seed, "transition_swarm");
    const auto most = static_cast<std::int32_t>(draw.integer(2, 8));
    SwarmWorld world;
    world.market.zones.push_back(
        zone("a", capacity({{minutes(0), most + 1}}, hours(40)), price(1)));
    world.market.after_last_row = AfterLastRow::hold;
    world.market.notice = draw.chance(0.5) ? whole_seconds(draw.integer(1, 90)) : Duration{};
    world.market.provisioning = whole_seconds(draw.integer(0, 60));
    world.market.rules.machine_speeds = {1000, draw.chance(0.5) ? 700 : 1000};
    JobSpec& spec = world.job;
    spec = job(hours(1), static_cast<std::int32_t>(draw.integer(1, 2)), most);
    spec.samples_total = draw.integer(200, 1500);
    spec.profile.throughput = {{1, {1, seconds(2 + 8 * draw.uniform())}}};
    spec.profile.lossless = draw.chance(0.2);
    spec.profile.checkpoint = whole_seconds(draw.integer(1, 40));
    spec.profile.restore = whole_seconds(draw.integer(0, 40));
    spec.profile.sharded = draw.chance(0.3);
    spec.plan.checkpoint_interval = minutes(draw.integer(5, 60));
    spec.plan.checkpoint_on_notice = draw.chance(0.5);
    const auto systems = all_transition_systems();
    const auto last = static_cast<std::int64_t>(systems.size()) - 1;
    const TransitionSystem& system = systems[static_cast<std::size_t>(draw.integer(0, last))];
    world.system = system.name;
    spec.transition = system.costs();
    spec.transition->transfer = {mebibytes(draw.integer(0, 4000)), gigabits_per_second(10),
                                 milliseconds(1), draw.chance(0.5)};
    spec.transition->changes[1].warm_up = {{1, whole_seconds(draw.integer(0, 20))}};
    spec.profile.spawn = spec.transition->overlapped_spawn;
    spec.give_up_at = at(days(3));
    prepare(world.market);
    return world;
}

struct Played {
    RunResult result;
    std::string broken;
    std::int64_t discards = 0;
};

Played play(const SwarmWorld& world, std::uint64_t seed) {
    Watch watch(world.job.plan);
    WorldSetup world_setup = setup(world.market, world.job);
    world_setup.seed = seed;
    world_setup.keep_timeline = true;
    world_setup.log = &watch;
    world_setup.policies.push_back(std::make_unique<Restless>(watch));
    World simulated(std::move(world_setup));
    Played played{simulated.run(), {}, 0};
    played.broken = watch.broken;
    played.discards = watch.discards;
    if (watch.commits != played.result.plans) played.broken = "commits that nobody logged";
    if (watch.discards < played.result.discarded) played.broken = "discards that nobody logged";
    if (played.result.causes.time_sum() != played.result.held) played.broken = "held twice";
    if (played.result.finished && played.result.samples_done < played.result.samples_total) {
        played.broken = "finished too early";
    }
    return played;
}

// Moments in the midst of every phase that the undisturbed run shows, by phase.
std::vector<std::pair<TransitionPhase, Instant>> midst_of_phases(const Timeline& timeline) {
    std::vector<std::pair<TransitionPhase, Instant>> moments;
    for (std::size_t row = 0; row + 1 < timeline.size(); ++row) {
        const auto phase = timeline[row].transition_phase.value_or(TransitionPhase::none);
        const Duration length = timeline[row + 1].at - timeline[row].at;
        const bool between = phase != TransitionPhase::none;
        if (between) moments.emplace_back(phase, timeline[row].at + Duration::of(length.raw() / 2));
    }
    return moments;
}

// Takes `count` machines at a moment and one more a second later, when the policies have answered
// the first loss and a Plan may be waiting for its boundary; all are back after two minutes.
void strike(SwarmWorld& world, Instant now, std::int32_t count) {
    auto& steps = world.market.zones.front().capacity.steps;
    const std::int32_t whole = steps.front().value;
    const Instant then = std::max(now, at(nanoseconds(1))) + world.market.notice;
    const std::int32_t left = std::max(0, whole - count);
    steps.push_back({then, left});
    if (left > 0) steps.push_back({then + whole_seconds(1), left - 1});
    steps.push_back({then + minutes(2), whole});
    prepare(world.market);
}

}  // namespace

TEST_CASE(
    "transition swarm: whoever dies in whatever phase, Plans are committed whole or not at all",
    "[swarm][property]") {
    std::map<TransitionPhase, int> struck;
    std::set<std::string> systems;
    std::int64_t worlds = 0;
    std::int64_t discards = 0;
    std::int64_t finished = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const SwarmWorld world = swarm_world(seed);
        systems.insert(world.system);
        const ReplayNote note(fmt::format("seed {} of test_sim \"transition swarm*\"", seed));
        const Played undisturbed = play(world, seed);
        CAPTURE(seed, world.system);
        REQUIRE(undisturbed.broken == "");
        RandomStream draw(seed, "transition_swarm/strikes");
        const auto moments = midst_of_phases(undisturbed.result.timeline);
        std::map<TransitionPhase, int> done;
        for (const auto& [phase, moment] : moments) {
            if (++done[phase] > 2) continue;  // twice a phase and world
            SwarmWorld hit = world;
            const auto all = world.market.zones.front().capacity.steps.front().value;
            strike(hit, moment,
                   draw.chance(0.3) ? all : static_cast<std::int32_t>(draw.integer(1, all)));
            const Played played = play(hit, seed);
            CAPTURE(static_cast<int>(phase), to_seconds(moment.since_start()));
            REQUIRE(played.broken == "");
            if (seed % 16 == 0) {
                REQUIRE(play(hit, seed).result.event_hash == played.result.event_hash);
            }
            ++struck[phase];
            ++worlds;
            discards += played.discards;
            finished += played.result.finished;
        }
    }
    fmt::print("transition swarm: {} struck worlds under {} systems (", worlds, systems.size());
    for (const auto& [phase, count] : struck) {
        fmt::print(" {} in {}", count, transition_phase_names[static_cast<std::size_t>(phase)]);
    }
    fmt::print(" ), {} finished, {} changes discarded\n", finished, discards);
    CHECK(discards > 0);
    CHECK(finished > 0);
    CHECK(systems.size() == all_transition_systems().size());
    for (const TransitionPhase phase :
         {TransitionPhase::drain, TransitionPhase::spawn, TransitionPhase::rendezvous,
          TransitionPhase::transfer, TransitionPhase::warm_up}) {
        CHECK(struck[phase] > 0);
    }
}

}  // namespace ukemi
