// interference_test.cpp — other traffic slows one collective down for a while; who sees it changes.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// Steps of 0.9 s of computing and 0.1 s (star) or 0.2 s (tree) of waiting; from 1000 s to 2000 s
// the star's links carry so much else that it takes ten times as long.
sim::JobSpec two_workers() {
    sim::JobSpec spec = job(hours(1), 2, 2);
    spec.samples_total = 3600;
    spec.profile.throughput = {{2, {1, milliseconds(900)}}};
    spec.profile.communication = {
        {policies::Collective::star, {{1, milliseconds(100)}}},
        {policies::Collective::binary_tree_star, {{1, milliseconds(200)}}}};
    spec.plan.collective = policies::Collective::star;
    spec.plan.fleet.front().market = policies::Market::on_demand;
    spec.interference = {
        {at(whole_seconds(1000)), at(whole_seconds(2000)), policies::Collective::star, 10}};
    return spec;
}

sim::MarketData interfered_market() {
    return market({zone("a", capacity({{minutes(0), 0}}, hours(9)), price(1))});
}

}  // namespace

TEST_CASE("interference: steps wait longer while other traffic is there, and no longer",
          "[interference]") {
    const sim::MarketData data = interfered_market();
    sim::JobSpec spec = two_workers();
    const records::RunResult disturbed = run(data, spec, {});
    CHECK(disturbed.finished);
    // 1000 steps before, 1000 s ÷ 1.9 s within (the step that crosses the end is slow), the rest.
    CHECK(to_seconds(disturbed.duration) == Approx(1000 + 527 * 1.9 + 2073));
    spec.interference.clear();
    CHECK(run(data, spec, {}).duration == hours(1));
    spec.plan.collective = policies::Collective::binary_tree_star;
    CHECK(run(data, spec, {}).duration == seconds(3600 * 1.1));
    spec.plan.collective = policies::Collective::ring;  // nobody measured it: as the longest
    CHECK(run(data, spec, {}).duration == seconds(3600 * 1.1));
}

TEST_CASE("interference: interference_switch takes the other collective as soon as it is agreed",
          "[interference]") {
    const sim::MarketData data = interfered_market();
    const sim::JobSpec spec = two_workers();
    REQUIRE(sim::simulated_capabilities(data, spec).knobs.has(policies::Knob::collective));
    const records::RunResult switched = run(data, spec, {{"interference_switch", "{}"}});
    CHECK(switched.finished);
    CHECK(switched.plans == 1);
    // One slow step is seen; the tree's steps take 1.1 s from there.
    CHECK(to_seconds(switched.duration) == Approx(1000 + 1.9 + 2599 * 1.1));
    CHECK(switched.duration < run(data, spec, {}).duration);
}

TEST_CASE("interference: who does not notice it measures a calm network, and waits",
          "[interference]") {
    const sim::MarketData data = interfered_market();
    sim::JobSpec spec = two_workers();
    const Duration all_notice = run(data, spec, {}).duration;
    spec.interference.front().noticed_by = 1;
    CHECK(run(data, spec, {}).duration == all_notice);
    // One vote of two is no majority: the star is kept.
    const records::RunResult kept = run(data, spec, {{"interference_switch", "{}"}});
    CHECK(kept.duration == all_notice);
    CHECK(kept.plans == 0);
}

TEST_CASE("interference: a slow machine computes more slowly and waits for the network as long",
          "[interference]") {
    sim::MarketData data = interfered_market();
    data.rules.machine_speeds = {1000, 500};
    sim::prepare(data);
    sim::JobSpec spec = two_workers();
    spec.interference.clear();
    CHECK(run(data, spec, {}).duration == seconds(3600 * (2 * 0.9 + 0.1)));
}

}  // namespace ukemi
