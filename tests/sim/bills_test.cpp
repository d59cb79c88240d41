// bills_test.cpp — small histories whose every second and dollar was worked out by hand.
//
// Spot costs 1 USD/h and on-demand 3 USD/h unless the case says otherwise.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

Duration spent(const records::RunResult& result, records::Cause cause) {
    return result.causes.time_of(cause);
}

sim::MarketData plenty() {
    return market({zone("a", capacity({{minutes(0), 100}}, hours(1)), price(1))});
}

}  // namespace

TEST_CASE("bills: on-demand without overhead costs the work", "[bills]") {
    const records::RunResult result = run(plenty(), job(hours(2)), {{"on_demand", "{}"}});
    CHECK(result.finished);
    CHECK(result.duration == hours(2));
    CHECK(result.cost == dollars(6));
    CHECK(spent(result, records::Cause::useful) == hours(2));
    CHECK(result.held == hours(2));
}

TEST_CASE("bills: the first start is a transition, and is paid", "[bills]") {
    sim::JobSpec spec = job(hours(2));
    spec.profile.restart = spec.profile.resize = minutes(6);
    const records::RunResult result = run(plenty(), spec, {{"spot_only", "{}"}});
    CHECK(result.duration == minutes(126));
    CHECK(result.cost == dollars(2.1));  // 126 min at 1 USD/h
    CHECK(spent(result, records::Cause::transition) == minutes(6));
    CHECK(result.causes.cost_of(records::Cause::transition) == dollars(0.1));
    CHECK(result.causes.cost_of(records::Cause::useful) == dollars(2));
}

TEST_CASE("bills: provisioning takes time and costs nothing", "[bills]") {
    sim::MarketData data = plenty();
    data.provisioning = minutes(3);
    const records::RunResult result = run(data, job(hours(1)), {{"spot_only", "{}"}});
    CHECK(result.duration == minutes(63));
    CHECK(result.cost == dollars(1));
}

TEST_CASE("bills: a lossless job that loses its machine waits and starts again", "[bills]") {
    // Spot from 0 to 30 min and from 60 min on; 1 h of work, 5 min to start.
    const sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(30), 0}, {minutes(60), 1}}, hours(3)), price(1))});
    sim::JobSpec spec = job(hours(1));
    spec.profile.restart = spec.profile.resize = minutes(5);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    // 5 + 25 min, gone; 5 + 35 min from 60 min on.
    CHECK(result.duration == minutes(100));
    CHECK(result.revocations == 1);
    CHECK(spent(result, records::Cause::useful) == hours(1));
    CHECK(spent(result, records::Cause::transition) == minutes(10));
    CHECK(result.held == minutes(70));
    CHECK(result.cost == Dollars::of(1'166'666'667));  // 70 min at 1 USD/h, two bills of 30 and 40
}

TEST_CASE("bills: a run that ends between notice and loss was not interrupted", "[bills]") {
    // Taken at 2 h, announced 10 min before; the last part of an hour is free if it is taken.
    sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}, {hours(2), 0}}, hours(9)), price(1))});
    data.notice = minutes(10);
    data.rules.spot_billing = {.granularity = hours(1), .last_part_free_if_taken = true};
    sim::prepare(data);
    const records::RunResult before = run(data, job(minutes(115)), {{"spot_only", "{}"}});
    CHECK(before.finished);
    CHECK(before.revocations == 0);
    CHECK(before.revocation_events == 0);
    CHECK(before.cost == dollars(2));
    // Lost before it is done, it was interrupted.
    const records::RunResult after = run(data, job(minutes(125)), {{"spot_only", "{}"}});
    CHECK_FALSE(after.finished);
    CHECK(after.revocations == 1);
}

TEST_CASE("bills: without a checkpoint all of the work is done again", "[bills]") {
    const sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(30), 0}, {minutes(60), 1}}, hours(3)), price(1))});
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.duration == minutes(120));
    CHECK(spent(result, records::Cause::useful) == hours(1));  // the first 30 min stay useful
    CHECK(spent(result, records::Cause::redone) == minutes(30));
    CHECK(result.checkpoints == 0);
}

TEST_CASE("bills: a checkpoint saves what came before it", "[bills]") {
    const sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(30), 0}, {minutes(60), 1}}, hours(3)), price(1))});
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(2);
    spec.profile.restore = minutes(3);
    spec.plan.checkpoint_interval = minutes(10);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    // 10 run, 2 save, 10 run, 2 save, 6 run (lost at 30). From 60: 3 restore, then 40 min of work
    // in pieces of 10 with 3 checkpoints between them (none at the very end): 3 + 40 + 6 = 49.
    CHECK(result.duration == minutes(109));
    CHECK(result.checkpoints == 5);
    CHECK(spent(result, records::Cause::redone) == minutes(6));
    CHECK(spent(result, records::Cause::useful) == hours(1));
    CHECK(spent(result, records::Cause::checkpoint) == minutes(10));
    CHECK(spent(result, records::Cause::transition) == minutes(3));
    CHECK(result.held == minutes(79));
}

TEST_CASE("bills: a torn step is wasted", "[bills]") {
    // Steps of 7 min: 4 whole ones fit into 30 min, 2 min are torn. The job has 8 steps.
    const sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(30), 0}, {minutes(60), 1}}, hours(3)), price(1))});
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = 8;
    spec.profile.throughput = {{1, {1, minutes(7)}}};
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.duration == minutes(60 + 28));
    CHECK(spent(result, records::Cause::wasted) == minutes(2));
    CHECK(spent(result, records::Cause::useful) == minutes(56));
}

TEST_CASE("bills: a started hour is paid whole, and what is beyond is wasted", "[bills]") {
    sim::MarketData data = plenty();
    data.rules.spot_billing.granularity = hours(1);
    const records::RunResult result = run(data, job(minutes(90)), {{"spot_only", "{}"}});
    CHECK(result.cost == dollars(2));
    CHECK(spent(result, records::Cause::wasted) == minutes(30));
    CHECK(result.causes.cost_of(records::Cause::wasted) == dollars(0.5));
    CHECK(result.held == hours(2));
}

TEST_CASE("bills: the minimum of 60 s is paid by an instance held for 20 s", "[bills]") {
    sim::MarketData data = plenty();
    data.rules.on_demand_billing = {.granularity = whole_seconds(1), .minimum = whole_seconds(60)};
    const records::RunResult result = run(data, job(whole_seconds(20)), {{"on_demand", "{}"}});
    CHECK(result.cost == dollars(0.05));  // 60 s at 3 USD/h
    CHECK(spent(result, records::Cause::wasted) == whole_seconds(40));
}

TEST_CASE("bills: a price change in the middle of a lease is paid from its moment on", "[bills]") {
    traces::PriceSeries prices{
        {{Instant{}, dollars_per_hour(1.0)}, {at(minutes(30)), dollars_per_hour(0.4)}},
        at(hours(2))};
    const sim::MarketData data = market({zone("a", capacity({{minutes(0), 1}}, hours(2)), prices)});
    const records::RunResult result = run(data, job(hours(1)), {{"spot_only", "{}"}});
    CHECK(result.cost == dollars(0.7));  // 0.5 h at 1 + 0.5 h at 0.4
}

TEST_CASE("bills: greedy switches when only on-demand meets the deadline", "[bills]") {
    // No spot at all: idle until R − C = 3 h − 1 h, less the 6 min to start, then on-demand.
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 0}}, hours(4)), price(1))});
    sim::JobSpec spec = job(hours(1));
    spec.profile.restart = spec.profile.resize = minutes(6);
    spec.deadline = at(hours(3));
    const records::RunResult result = run(data, spec, {{"greedy", "{}"}});
    CHECK(result.deadline_met);
    CHECK(result.duration == hours(3));
    CHECK(result.held == minutes(66));  // from 1 h 54 min on
    CHECK(result.cost == dollars(3.3));
}

TEST_CASE("bills: an elastic group grows at a step boundary and goes on when one is lost",
          "[bills]") {
    // One machine for an hour, two for an hour, then one again. Two are twice as fast.
    const sim::MarketData data = market(
        {zone("a", capacity({{minutes(0), 1}, {minutes(60), 2}, {minutes(120), 1}}, hours(9)),
              price(1))});
    sim::JobSpec spec = job(hours(5), 1, 2);
    spec.profile.throughput = {{1, {1, nanoseconds(1)}}, {2, {2, nanoseconds(1)}}};
    spec.profile.resize = minutes(10);
    const records::RunResult result =
        run(data, spec, {{"spot_only", "{}"}, {"follow_capacity", "{}"}});
    // 60 min of work; 10 to grow, 100 min of work in 50; 10 to shrink; 140 min of work.
    CHECK(result.duration == minutes(60 + 60 + 10 + 140));
    CHECK(result.transitions == 3);
    CHECK(result.revocations == 1);
    CHECK(spent(result, records::Cause::transition) ==
          minutes(10 * 2 + 10));  // two machines, then one
    CHECK(spent(result, records::Cause::useful) == minutes(60 + 2 * 50 + 140));
}

TEST_CASE("bills: with a notice the job saves in time and loses a second", "[bills]") {
    sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(30), 0}, {minutes(60), 1}}, hours(3)), price(1))});
    data.notice = minutes(2);
    sim::prepare(data);
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    const records::RunResult result =
        run(data, spec, {{"spot_only", "{}"}, {"checkpoint_on_notice", "{}"}});
    // 28 min 59 s of work, saved until 29 min 59 s, a second of work that is lost; from 60 min on
    // that second again and 31 min.
    CHECK(result.revocations == 1);
    CHECK(result.checkpoints == 1);
    CHECK(spent(result, records::Cause::redone) == whole_seconds(1));
    CHECK(result.duration == minutes(91) + whole_seconds(1));
    CHECK(result.held == minutes(61) + whole_seconds(1));
}

TEST_CASE("bills: a planned change of market waits for the new machine and saves first",
          "[bills]") {
    // time_sliced with one slice is greedy; here rc_threshold goes from spot to on-demand at the
    // net while spot is still held, because unsaved work makes spot a risk.
    sim::MarketData data = plenty();
    data.provisioning = minutes(4);
    sim::prepare(data);
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(2);
    spec.profile.restart = spec.profile.resize = minutes(1);
    spec.profile.provisioning = minutes(4);
    spec.deadline = at(minutes(90));
    const records::RunResult result = run(data, spec, {{"rc_threshold", "{}"}});
    // d = 4 + 1 + 2 = 7 min. Spot is there at 4, trains from 5. All 60 min are at risk until 90 −
    // R: the net holds from t = 90 − 60 − 7 = 23 on. On-demand is there at 27; until then 22 min
    // are done; saved at 29; on-demand starts: 1 min; 38 min of work from 30 to 68.
    CHECK(result.deadline_met);
    CHECK(result.duration == minutes(68));
    CHECK(result.checkpoints == 1);
    CHECK(spent(result, records::Cause::redone) == Duration{});
    CHECK(spent(result, records::Cause::checkpoint) == minutes(2));
    // Spot from 4 to 29; on-demand from 27 to 68, idle for its first 2 min.
    CHECK(spent(result, records::Cause::idle) == minutes(2));
    CHECK(result.held == minutes(25 + 41));
    CHECK(result.cost == dollars(25.0 / 60 * 1 + 41.0 / 60 * 3));
}

}  // namespace ukemi
