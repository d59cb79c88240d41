// slow_machines_test.cpp — a machine that is slower than promised, and the one that takes its
// place.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// Three workers of 592 images a second, but for the second, which does 434 (the log of Or et al.).
sim::MarketData uneven_market(std::int32_t spot = 0) {
    sim::MarketData data = market({zone("a", capacity({{minutes(0), spot}}, hours(99)), price(1))});
    data.provisioning = whole_seconds(60);
    data.rules.machine_speeds = {1000, 733, 1027};
    sim::prepare(data);
    return data;
}

sim::JobSpec three_workers(policies::Market bought) {
    sim::JobSpec spec = job(hours(1), 1, 3);
    spec.samples_total = 592 * 3 * 3600;
    spec.plan.global_batch = 592 * 3;
    spec.profile.throughput = {{1, {1, whole_seconds(3)}}, {3, {1, whole_seconds(1)}}};
    spec.plan.fleet = {{ZoneId{0}, 0, bought, 3, Price{}}};
    spec.profile.resize = whole_seconds(5);
    return spec;
}

records::RunResult with(const sim::MarketData& data, const sim::JobSpec& spec, bool replaces) {
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.keep_timeline = true;
    if (replaces) world_setup.policies.push_back(policy("replace_stragglers"));
    sim::World world(std::move(world_setup));
    return world.run();
}

std::int32_t fewest_while_running(const records::RunResult& result) {
    std::int32_t fewest = 1000;
    for (const records::TimelineRow& row : result.timeline) {
        if (row.phase == policies::JobPhase::running && row.workers > 0)
            fewest = std::min(fewest, row.workers);
    }
    return fewest;
}

}  // namespace

TEST_CASE("slow machines: the group is as fast as its slowest, until that is replaced",
          "[slow_machines]") {
    const sim::MarketData data = uneven_market();
    const sim::JobSpec spec = three_workers(policies::Market::on_demand);
    const records::RunResult slow = with(data, spec, false);
    const records::RunResult replaced = with(data, spec, true);
    CHECK(slow.finished);
    CHECK(slow.launches == 3);
    CHECK(to_seconds(slow.duration) == Approx(60 + 3600 / 0.733));
    CHECK(replaced.finished);
    CHECK(replaced.launches == 4);
    CHECK(replaced.revocations == 0);
    CHECK(fewest_while_running(replaced) == 3);  // the replacement comes first
    // A minute to launch, and one at 0.733 of the speed until the replacement is there; then 5 s to
    // take it in.
    CHECK(to_seconds(replaced.duration) == Approx(3600 + 60 + 5 + 61 * (1 - 0.733)).margin(2));
}

TEST_CASE("slow machines: where no other is to be had, the slow one stays", "[slow_machines]") {
    const sim::MarketData data = uneven_market(3);
    const records::RunResult result = with(data, three_workers(policies::Market::spot), true);
    CHECK(result.finished);
    CHECK(result.launches == 3);
    CHECK(fewest_while_running(result) == 3);
    const sim::MarketData more = uneven_market(4);
    CHECK(with(more, three_workers(policies::Market::spot), true).launches == 4);
}

TEST_CASE("slow machines: a share of all launches is slow, the same with the same seed",
          "[slow_machines]") {
    sim::MarketData data = market({zone("a", capacity({{minutes(0), 0}}, hours(99)), price(1))});
    data.rules.slow_share = 0.2;
    data.rules.slow_speed = 500;
    sim::prepare(data);
    sim::JobSpec spec = three_workers(policies::Market::on_demand);
    spec.plan.workers_max = 20;
    spec.plan.fleet.front().count = 20;
    const records::RunResult slow = with(data, spec, false);
    const records::RunResult replaced = with(data, spec, true);
    CHECK(replaced.launches > 20);
    CHECK(replaced.duration < slow.duration);
    CHECK(with(data, spec, true).event_hash == replaced.event_hash);
}

TEST_CASE("slow machines: a world whose machines are alike does not turn the knob",
          "[slow_machines]") {
    sim::MarketData data = uneven_market();
    const sim::JobSpec spec = three_workers(policies::Market::on_demand);
    CHECK(sim::simulated_capabilities(data, spec).knobs.has(policies::Knob::machines));
    data.rules.machine_speeds.clear();
    CHECK_FALSE(sim::simulated_capabilities(data, spec).knobs.has(policies::Knob::machines));
    CHECK_FALSE(
        sim::simulated_capabilities(data, spec).knobs.has(policies::Knob::learners_per_gpu));
}

TEST_CASE("learners: the tuner finds the knee of a machine's throughput, and the job is faster",
          "[learners]") {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 0}}, hours(99)), price(1))});
    sim::JobSpec spec = job(hours(1), 1, 1);
    spec.samples_total = 16 * 36'000;
    spec.plan.global_batch = 0;
    spec.plan.batch_per_learner = 16;
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::on_demand, 1, Price{}}};
    spec.profile.throughput = {{1, {1, milliseconds(100)}}};
    spec.profile.learner_speeds = {1000, 1600, 1900, 1920};
    const records::RunResult alone = run(data, spec, {});
    const records::RunResult tuned = run(data, spec, {{"tune_learners", "{}"}});
    CHECK(to_seconds(alone.duration) == Approx(3600));
    // Windows of a second and a little each under 1, 2 and 4 learners; 1.9 times as fast with 3.
    CHECK(to_seconds(tuned.duration) == Approx(3600 / 1.9).epsilon(0.002));
    CHECK(tuned.plans == 4);
    CHECK(tuned.step_mean > alone.step_mean);
}

}  // namespace ukemi
