// events_test.cpp — links that change, workers that leave, and validation between steps.
#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/perfetto_trace.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

namespace {

struct FourMachines {
    FourMachines() : topology(sim::build_cluster("p3.2xlarge", 4)) {
        job.name = "job";
        job.workers = topology.workers();
        job.per_host = 1;
        job.compute.assign(4, milliseconds(90));
        job.batch = 32;
        job.buckets = {{"all", bytes(100'000'000), 1.0}};
        job.launch.overhead = {};
        job.steps = 8;
    }

    sim::JobSteps run(const sim::StepEvents& events = {}, std::int64_t detailed = 0) const {
        return sim::run_steps(topology, std::span(&job, 1), {}, {1, detailed}, events).front();
    }
    // All network links of the machine, from then on.
    void change(sim::StepEvents& events, std::int32_t machine, Instant at, double share) const {
        for (std::size_t i = 0; i < topology.links().size(); ++i) {
            const sim::Link& link = topology.links()[i];
            const auto place = static_cast<sim::MachineId>(machine);
            if (link.kind != sim::LinkKind::network) continue;
            if (topology.device(link.from).machine != place &&
                topology.device(link.to).machine != place) {
                continue;
            }
            events.links.push_back({at, static_cast<sim::LinkId>(i),
                                    BytesPerSecond::of(share * link.bandwidth.raw())});
        }
    }

    sim::Topology topology;
    sim::StepJob job;
};

Duration length(const sim::StepRecord& step) { return step.end - step.begin; }

void check_chain(const sim::JobSteps& result) {
    Instant begin;
    for (const sim::StepRecord& step : result.steps) {
        CHECK(step.begin == begin);
        CHECK(step.parts.total() == length(step));
        begin = step.end;
    }
}

}  // namespace

TEST_CASE("events: a link at half its rate doubles the sending while it lasts", "[events]") {
    const FourMachines four;
    const sim::JobSteps before = four.run();
    const Duration step = length(before.steps[0]);
    sim::StepEvents events;
    four.change(events, 2, Instant::at(2 * step), 0.5);
    four.change(events, 2, Instant::at(2 * step) + hours(1), 1);
    const sim::JobSteps after = four.run(events);
    check_chain(after);
    CHECK(length(after.steps[1]) == step);
    for (std::size_t i = 2; i < 8; ++i) {
        CHECK(after.steps[i].parts.sending.raw() ==
              Approx(2 * before.steps[i].parts.sending.raw()).epsilon(0.01));
    }
}

TEST_CASE("events: a link that is down for a second delays its step by a second", "[events]") {
    const FourMachines four;
    const Duration step = length(four.run().steps[0]);
    sim::StepEvents events;
    const Instant in_flight = Instant::at(2 * step + milliseconds(150));  // 90 ms compute, then 120
    four.change(events, 1, in_flight, 0);
    four.change(events, 1, in_flight + whole_seconds(1), 1);
    const sim::JobSteps result = four.run(events);
    check_chain(result);
    CHECK(length(result.steps[2]).raw() == Approx((step + whole_seconds(1)).raw()).epsilon(1e-6));
    CHECK(length(result.steps[3]) == step);
    // For ever: no step ends any more.
    events.links.resize(events.links.size() / 2);
    CHECK_THROWS_WITH(four.run(events),
                      "job job: waits for ever: what it sends crosses a link that is down");
}

TEST_CASE("events: when a worker leaves, its step is torn and made again by the others",
          "[events]") {
    const FourMachines four;
    const Duration step = length(four.run().steps[0]);
    FourMachines three;
    three.job.workers.erase(three.job.workers.begin() + 1);
    three.job.compute.pop_back();
    const Duration step_of_three = length(three.run().steps[0]);
    CHECK(step_of_three < step);  // a smaller ring
    sim::StepEvents events;
    const Instant at = Instant::at(2 * step + milliseconds(150));  // flows are in the air
    events.departures = {{at, 0, {1}, whole_seconds(5)}};
    const sim::JobSteps result = four.run(events);
    check_chain(result);
    REQUIRE(result.steps.size() == 8);
    const sim::StepRecord& torn = result.steps[2];
    CHECK(torn.begin == Instant::at(2 * step));
    CHECK(torn.parts.torn == milliseconds(150) + whole_seconds(5));
    CHECK(length(torn) == torn.parts.torn + step_of_three);
    CHECK(result.steps[1].samples == 4 * 32);
    CHECK(torn.samples == 3 * 32);
    CHECK(torn.workers == 3);
    for (std::size_t i = 3; i < 8; ++i) {
        CHECK(length(result.steps[i]) == step_of_three);
        CHECK(result.steps[i].parts.torn == Duration{});
    }
}

TEST_CASE("events: departures while others are torn, to the last worker, and after the end",
          "[events]") {
    const FourMachines four;
    const Duration step = length(four.run().steps[0]);
    sim::StepEvents events;
    const Instant at = Instant::at(2 * step + milliseconds(10));
    events.departures = {{at, 0, {0}, whole_seconds(5)},
                         {at + whole_seconds(2), 0, {3}, whole_seconds(5)},  // before they began
                         {at + milliseconds(7500), 0, {1}, {}},
                         {at + hours(1), 0, {2}, {}}};  // nobody is left, but the job is over
    const sim::JobSteps result = four.run(events);
    check_chain(result);
    REQUIRE(result.steps.size() == 8);
    CHECK(result.steps[2].parts.torn == milliseconds(10) + whole_seconds(7));
    CHECK(result.steps[2].workers == 2);
    CHECK(result.steps.back().workers == 1);
    CHECK(length(result.steps.back()) == milliseconds(90));
}

TEST_CASE("events: who is left keeps its pace, and its row in a trace", "[events]") {
    FourMachines four;
    four.job.stragglers.persistent = 0.5;
    sim::StepEvents events;
    events.departures = {{Instant::at(milliseconds(1500)), 0, {1}, milliseconds(100)}};
    const sim::JobSteps result = four.run(events, 8);
    check_chain(result);
    const std::vector<Duration>& before = result.steps.front().computing;
    const std::vector<Duration>& after = result.steps.back().computing;
    REQUIRE(after.size() == 3);
    CHECK(after == std::vector<Duration>{before[0], before[2], before[3]});
    CHECK(result.steps.back().first_ranks == std::vector<std::int32_t>{0, 2, 3});
    const std::vector<sim::JobSteps> results = {result};
    const std::string text = sim::perfetto_trace(four.topology, std::span(&four.job, 1), results);
    CHECK_THAT(text, Catch::Contains("\"torn\""));
}

TEST_CASE("events: with a worker of a layout its replica goes", "[events]") {
    const sim::Topology dgx = sim::build_cluster("dgx1_v100", 3);
    sim::StepJob job;
    job.name = "job";
    job.workers = dgx.workers();
    job.compute.assign(24, milliseconds(40));
    job.batch = 2;
    job.accumulation = 4;
    job.steps = 6;
    sim::LayoutRequest request;
    request.degrees = {3, 2, 4};
    request.micro_batches = 4;
    request.batch = 2;
    request.value_bytes = 2;
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    job.layout = sim::make_layout(model, request, "test");
    sim::StepEvents events;
    events.departures = {{Instant::at(milliseconds(70)), 0, {5}, milliseconds(500)}};
    CHECK(sim::ranks_left(job, events.departures[0].ranks).size() == 16);
    const sim::JobSteps result =
        sim::run_steps(dgx, std::span(&job, 1), {}, {1, 6}, events).front();
    check_chain(result);
    REQUIRE(result.steps.size() == 6);
    CHECK(result.steps.front().samples == 3 * 8);
    CHECK(result.steps.back().samples == 2 * 8);
    CHECK(result.steps.back().workers == 16);
    // Replica 1 is ranks 4 to 7 of the first stage and 16 to 19 of the second.
    CHECK(result.steps.back().first_ranks ==
          std::vector<std::int32_t>{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23});
    Duration torn;
    for (const sim::StepRecord& step : result.steps) torn += step.parts.torn;
    CHECK(torn > milliseconds(500));
    CHECK(torn < milliseconds(570));
}

TEST_CASE("events: flows of a torn step leave the links to others", "[events]") {
    const FourMachines four;
    sim::StepJob other = four.job;
    other.name = "other";
    other.steps = 3;
    const std::vector<sim::StepJob> both = {four.job, other};
    sim::StepEvents events;
    events.departures = {{Instant::at(milliseconds(100)), 0, {0}, whole_seconds(60)}};
    const auto results = sim::run_steps(four.topology, both, {}, {1, 0}, events);
    const Duration alone = four.run().steps[0].parts.sending;
    // 10 ms of its first sending were shared.
    CHECK(to_seconds(results[1].steps[0].parts.sending - alone) == Approx(0.005).epsilon(0.02));
    CHECK(results[1].steps[1].parts.sending == alone);
}

TEST_CASE("events: validation takes a forward pass of its samples, shared out or not", "[events]") {
    FourMachines four;
    four.job.validation = {3, 1000, true};
    const sim::JobSteps shared = four.run({}, 8);
    check_chain(shared);
    for (std::size_t i = 0; i < 8; ++i) {
        // 1000 samples in 8 batches of 128; a forward pass is a third of 90 ms.
        const Duration expected = (i + 1) % 3 == 0 ? 8 * milliseconds(30) : Duration{};
        CHECK(shared.steps[i].parts.validation == expected);
    }
    CHECK(shared.steps[2].spans.size() == 1);
    four.job.validation.distributed = false;
    const sim::JobSteps alone = four.run();
    check_chain(alone);
    CHECK(alone.steps[5].parts.validation == 32 * milliseconds(30));
    // Departures do not change which steps are followed by it.
    sim::StepEvents events;
    events.departures = {{alone.steps[3].begin + milliseconds(1), 0, {3}, {}}};
    const sim::JobSteps fewer = four.run(events);
    CHECK(fewer.steps[5].parts.validation == 32 * milliseconds(30));
    CHECK(fewer.steps[3].parts.validation == Duration{});
}

}  // namespace ukemi
