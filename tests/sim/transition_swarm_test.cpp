// transition_swarm_test.cpp — workers die in every phase of every transition, and Plans stay whole.
//
// Each world is run once undisturbed to learn when its phases are; then again, and in the midst of
// one of them workers of that very group die; and again with a capacity that falls, where machines
// that are announced to be lost die before their time. A watcher looks at every event: the
// Plan of the Controller is always the last one committed, versions rise by one, and what was
// discarded never comes to be.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/job/transition_systems.hpp"
#include "tests/sim/fixture.hpp"
#include "tests/sim/telling_trainer.hpp"

namespace ukemi {

namespace {

struct Strike {
    Instant at;
    InstanceId who;
    std::string phase;  // in which it has to hit
};

// Compares what is with what was committed, at every event; strikes those under notice.
class Watch final : public policies::ControllerLog {
public:
    Watch(const policies::Plan& first, std::uint64_t seed, bool strikes_noticed)
        : committed_(first),
          draw_(seed, "transition_swarm/noticed"),
          strikes_noticed_(strikes_noticed) {}
    std::unique_ptr<sim::Trainer> make(const sim::JobSpec& job, policies::Controller& controller,
                                       records::Ledger& ledger, sim::RunQueue& queue,
                                       const std::vector<Strike>& strikes, std::uint64_t seed) {
        controller_ = &controller;
        queue_ = &queue;
        for (const Strike& one : strikes) {
            queue.schedule(one.at, sim::Phase::environment, sim::WorkerFailed{one.who});
            strikes_.emplace(one.who, one);
        }
        auto trainer = std::make_unique<TellingTrainer>(
            std::make_unique<sim::Training>(job, controller, ledger, queue, seed), moments);
        trainer_ = trainer.get();
        return trainer;
    }
    // Before it is handled.
    void event(Instant now, const sim::Event& event) {
        if (!(controller_->plan() == committed_)) broken = "a Plan stands that nobody committed";
        struck_noticed_ = false;
        if (const auto* started = std::get_if<sim::WorkerStarted>(&event)) {
            trainer_->started(started->instance);
        }
        const auto* failed = std::get_if<sim::WorkerFailed>(&event);
        if (failed == nullptr || trainer_->gone(failed->instance)) return;
        const auto notice = lost_at_.find(failed->instance);
        if (notice != lost_at_.end() && now < notice->second) {
            struck_noticed_ = true;
            ++struck["notice"];
            const std::string phase = trainer_->phase_of(failed->instance, now);
            if (!phase.empty()) ++noticed_in_phase;
        }
        const auto wanted = strikes_.find(failed->instance);
        if (wanted == strikes_.end() || wanted->second.phase.empty()) return;
        const std::string phase = trainer_->phase_of(failed->instance, now);
        if (phase == wanted->second.phase) ++struck[phase];
    }
    void question(const policies::QuestionRecord& record) override {
        if (record.proposed != nullptr) proposed_ = *record.proposed;
        for (const policies::Notice& one : record.seen.notices) {
            const bool known = !lost_at_.emplace(one.instance, one.lost_at).second;
            const Duration left = one.lost_at - record.seen.now;
            if (!strikes_noticed_ || left < nanoseconds(10)) continue;
            // At any time before the loss, or while this very answer waits for its boundary.
            const bool waits = record.proposed != nullptr && draw_.chance(0.5);
            if (!waits && (known || draw_.chance(0.3))) continue;
            const Duration most = waits ? std::min(left, whole_seconds(2)) : left;
            const auto later = draw_.integer(1, most.raw() - 2);
            queue_->schedule(record.seen.now + nanoseconds(later), sim::Phase::environment,
                             sim::WorkerFailed{one.instance});
        }
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
        proposed_.reset();  // the old Plan stands, which the next event shows
        ++discards;
        if (struck_noticed_) ++discards_noticed;
    }
    void shown(const policies::Plan& plan) {
        if (!(plan == committed_)) broken = "a policy was shown a Plan that nobody committed";
    }
    std::string broken;
    std::vector<Moment> moments;
    std::map<std::string, int> struck;  // by phase; "notice": between a notice and the loss
    int noticed_in_phase = 0;           // of the latter, in the midst of a change
    std::int64_t commits = 0;
    std::int64_t discards = 0;
    std::int64_t discards_noticed = 0;  // because somebody under notice died

private:
    policies::Plan committed_;
    std::optional<policies::Plan> proposed_;
    RandomStream draw_;
    bool strikes_noticed_;
    bool struck_noticed_ = false;
    std::map<InstanceId, Instant> lost_at_;
    std::map<InstanceId, Strike> strikes_;
    const policies::Controller* controller_ = nullptr;
    sim::RunQueue* queue_ = nullptr;
    TellingTrainer* trainer_ = nullptr;
};

// Resizes and turns the batch at random steps and events.
class Restless final : public policies::Policy {
public:
    explicit Restless(Watch& watch) : watch_(&watch) {}
    std::string_view name() const override { return "restless"; }
    policies::KnobSet knobs() const override {
        return {policies::Knob::count, policies::Knob::workers, policies::Knob::checkpoint_interval,
                policies::Knob::machines};
    }
    policies::HookSet hooks() const override {
        return {policies::Hook::on_event, policies::Hook::after_step};
    }
    std::int64_t every_steps() const override { return 7; }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        return anything(view, 0.3);
    }
    policies::Decision after_step(const policies::PolicyView& view) override {
        return anything(view, 0.2);
    }

private:
    policies::Decision anything(const policies::PolicyView& view, double chance) {
        watch_->shown(view.plan);
        if (!view.random.chance(chance)) return {};
        const auto size = static_cast<std::int32_t>(view.random.integer(1, view.instances_max));
        policies::Decision decision = policies::resized_to(size);
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
    sim::MarketData market;
    sim::JobSpec job;
    std::string system;
};

SwarmWorld swarm_world(std::uint64_t seed) {
    RandomStream draw(seed, "transition_swarm");
    const auto most = static_cast<std::int32_t>(draw.integer(2, 8));
    SwarmWorld world;
    world.market.zones.push_back(
        zone("a", capacity({{minutes(0), most + 1}}, hours(40)), price(1)));
    world.market.after_last_row = sim::AfterLastRow::hold;
    world.market.notice = draw.chance(0.5) ? whole_seconds(draw.integer(1, 90)) : Duration{};
    world.market.provisioning = whole_seconds(draw.integer(0, 60));
    world.market.rules.machine_speeds = {1000, draw.chance(0.5) ? 700 : 1000};
    sim::JobSpec& spec = world.job;
    spec = job(hours(1), static_cast<std::int32_t>(draw.integer(1, 2)), most);
    spec.samples_total = draw.integer(200, 1500);
    spec.profile.throughput = {{1, {1, seconds(2 + 8 * draw.uniform())}}};
    spec.profile.lossless = draw.chance(0.2);
    spec.profile.checkpoint = whole_seconds(draw.integer(1, 40));
    spec.profile.restore = whole_seconds(draw.integer(0, 40));
    spec.profile.sharded = draw.chance(0.3);
    spec.plan.checkpoint_interval = minutes(draw.integer(5, 60));
    spec.plan.checkpoint_on_notice = draw.chance(0.5);
    const auto systems = sim::all_transition_systems();
    const auto last = static_cast<std::int64_t>(systems.size()) - 1;
    const sim::TransitionSystem& system = systems[static_cast<std::size_t>(draw.integer(0, last))];
    world.system = system.name;
    spec.transition = system.costs();
    spec.transition->transfer = {mebibytes(draw.integer(0, 4000)), gigabits_per_second(10),
                                 milliseconds(1), draw.chance(0.5)};
    for (std::size_t change = 0; change < sim::group_change_count; ++change) {
        const Duration warm_up = whole_seconds(draw.integer(0, 20));
        spec.transition->changes[change].warm_up = {{1, marked_warm_up(warm_up, change)}};
    }
    spec.profile.spawn = spec.transition->overlapped_spawn;
    spec.give_up_at = at(days(3));
    sim::prepare(world.market);
    return world;
}

struct Played {
    records::RunResult result;
    std::string broken;
    std::vector<Moment> moments;
    std::map<std::string, int> struck;
    int noticed_in_phase = 0;
    std::int64_t discards = 0;
    std::int64_t discards_noticed = 0;
};

// Not every checkpoint is one that a change or a loss waits for.
bool drains_at(const records::Timeline& timeline, Instant at) {
    const auto after = std::ranges::upper_bound(timeline, at, {}, &records::TimelineRow::at);
    if (after == timeline.begin()) return false;
    return (after - 1)->transition_phase == policies::TransitionPhase::drain;
}

Played play(const SwarmWorld& world, std::uint64_t seed, const std::vector<Strike>& strikes = {},
            bool strikes_noticed = false) {
    Watch watch(world.job.plan, seed, strikes_noticed);
    sim::WorldSetup world_setup = setup(world.market, world.job);
    world_setup.seed = seed;
    world_setup.keep_timeline = true;
    world_setup.log = &watch;
    world_setup.capabilities = sim::simulated_capabilities(world.market, world.job);
    world_setup.make_trainer = [&](policies::Controller& controller, records::Ledger& ledger,
                                   sim::RunQueue& queue) {
        return watch.make(world.job, controller, ledger, queue, strikes, seed);
    };
    world_setup.on_event = [&](Instant now, sim::Phase, const sim::Event& event) {
        watch.event(now, event);
    };
    world_setup.policies.push_back(std::make_unique<Restless>(watch));
    sim::World simulated(std::move(world_setup));
    Played played{simulated.run(), watch.broken, {}, {}, 0, 0, 0};
    played.moments = std::move(watch.moments);
    std::erase_if(played.moments, [&](const Moment& one) {
        return one.phase == "drain" && !drains_at(played.result.timeline, one.at);
    });
    played.struck = std::move(watch.struck);
    played.noticed_in_phase = watch.noticed_in_phase;
    played.discards = watch.discards;
    played.discards_noticed = watch.discards_noticed;
    if (watch.commits != played.result.plans) played.broken = "commits that nobody logged";
    if (watch.discards < played.result.discarded) played.broken = "discards that nobody logged";
    if (played.result.causes.time_sum() != played.result.held) played.broken = "held twice";
    if (played.result.finished && played.result.samples_done < played.result.samples_total) {
        played.broken = "finished too early";
    }
    return played;
}

// Some of those concerned die at the moment, and one more a second later, when the policies have
// answered the first loss and a Plan may be waiting for its boundary.
std::vector<Strike> strikes_at(const Moment& moment, RandomStream& draw) {
    const auto all = static_cast<std::int64_t>(moment.who.size());
    const std::int64_t count = draw.chance(0.3) ? all : draw.integer(1, all);
    std::vector<Strike> strikes;
    for (const InstanceId one : moment.who) {
        const bool later = std::ssize(strikes) == count;
        strikes.push_back(
            {later ? moment.at + whole_seconds(1) : moment.at, one, later ? "" : moment.phase});
        if (later) break;
    }
    return strikes;
}

// The market takes `count` machines at a moment and one more a second later; all are back after two
// minutes.
SwarmWorld with_fall(SwarmWorld world, Instant now, std::int32_t count) {
    auto& steps = world.market.zones.front().capacity.steps;
    const std::int32_t whole = steps.front().value;
    const Instant then = std::max(now, at(nanoseconds(1))) + world.market.notice;
    const std::int32_t left = std::max(0, whole - count);
    steps.push_back({then, left});
    if (left > 0) steps.push_back({then + whole_seconds(1), left - 1});
    steps.push_back({then + minutes(2), whole});
    sim::prepare(world.market);
    return world;
}

// What came of all struck worlds.
struct Tally {
    std::map<std::string, int> struck;
    std::set<std::string> systems;
    std::int64_t worlds = 0;
    std::int64_t discards = 0;
    std::int64_t discards_noticed = 0;
    std::int64_t finished = 0;
    int noticed_in_phase = 0;
    void add(const Played& played) {
        for (const auto& [phase, count] : played.struck) struck[phase] += count;
        ++worlds;
        discards += played.discards;
        discards_noticed += played.discards_noticed;
        finished += played.result.finished;
        noticed_in_phase += played.noticed_in_phase;
    }
};

}  // namespace

TEST_CASE("transition swarm: after a death in any phase, Plans are committed whole or not at all",
          "[swarm][property]") {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const SwarmWorld world = swarm_world(seed);
        tally.systems.insert(world.system);
        const ReplayNote note(fmt::format("seed {} of test_sim \"transition swarm*\"", seed));
        const Played undisturbed = play(world, seed);
        CAPTURE(seed, world.system);
        REQUIRE(undisturbed.broken == "");
        RandomStream draw(seed, "transition_swarm/strikes");
        std::map<std::string, int> done;
        for (const Moment& moment : undisturbed.moments) {
            if (++done[moment.phase] > 2) continue;  // twice a phase and world
            const auto all = world.market.zones.front().capacity.steps.front().value;
            const auto count = static_cast<std::int32_t>(draw.integer(1, all));
            const std::vector<Strike> strikes = strikes_at(moment, draw);
            const SwarmWorld fallen = with_fall(world, moment.at, count);
            CAPTURE(moment.phase, to_seconds(moment.at.since_start()));
            for (const bool by_market : {false, true}) {
                const auto again = [&] {
                    return by_market ? play(fallen, seed, {}, true) : play(world, seed, strikes);
                };
                const Played played = again();
                REQUIRE(played.broken == "");
                if (seed % 16 == 0) REQUIRE(again().result.event_hash == played.result.event_hash);
                tally.add(played);
            }
        }
    }
    fmt::print("transition swarm: {} struck worlds under {} systems (", tally.worlds,
               tally.systems.size());
    for (const auto& [phase, count] : tally.struck) fmt::print(" {} in {},", count, phase);
    fmt::print(
        " of the noticed {} in the midst of a change), {} finished, {} changes discarded, "
        "{} of them for somebody under notice\n",
        tally.noticed_in_phase, tally.finished, tally.discards, tally.discards_noticed);
    CHECK(tally.discards > 40);
    CHECK(tally.discards_noticed > 3);
    CHECK(tally.noticed_in_phase > 600);
    CHECK(tally.struck["notice"] > 1000);
    CHECK(tally.finished > 0);
    CHECK(tally.systems.size() == sim::all_transition_systems().size());
    // Nobody is sent the model in a group that shrinks, and nobody starts.
    for (const char* phase :
         {"start spawn", "start rendezvous", "start transfer", "start warm_up", "grow spawn",
          "grow rendezvous", "grow transfer", "grow warm_up", "shrink rendezvous", "shrink warm_up",
          "drain", "spawn while others train", "notice"}) {
        CAPTURE(phase);
        CHECK(tally.struck[phase] > 10);
    }
}

}  // namespace ukemi
