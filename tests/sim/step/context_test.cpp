// context_test.cpp — samples whose tokens are divided: rings of keys and values beside attention.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/layer_times.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

sim::StepJob ring_job(const sim::Topology& topology) {
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.steps = 1;
    job.compute.assign(job.workers.size(), whole_seconds(1));
    return job;
}

sim::StepRecord ring_step(const sim::Topology& topology, const sim::StepJob& job) {
    return sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
}

sim::LayoutRequest context_request(std::int32_t context, std::int32_t tensor = 1) {
    sim::LayoutRequest request;
    request.degrees = {1, 1, tensor};
    request.context = context;
    request.batch = 2;
    request.value_bytes = 2;
    return request;
}

sim::ModelProfile long_transformer(bool flash) {
    sim::TransformerShape shape;
    shape.layers = 4;
    shape.hidden = 1024;
    shape.heads = 16;
    shape.kv_heads = 4;
    shape.vocabulary = 32000;
    shape.sequence_length = 16384;
    shape.positions = 16384;
    shape.flash = flash;
    return sim::gpt2("long", shape);
}

}  // namespace

TEST_CASE("context: a block ends as if each part were computed with as it comes", "[context]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    for (const Duration compute : {milliseconds(8), milliseconds(80), milliseconds(800)}) {
        sim::StepJob job = ring_job(topology);
        sim::LayoutWork work;
        work.context = 4;
        work.stages.resize(1);
        sim::ModelBlock block{compute / whole_seconds(1)};
        block.exchange = sim::ExchangeKind::context_ring;
        block.bytes = bytes(20'000'000);
        work.stages[0].forward = {block};
        work.stages[0].backward = {{0.001}};
        job.layout = work;
        // A round of the ring, alone.
        sim::ClusterNetwork network(topology);
        const sim::PlacedCollective ring =
            sim::placed_exchange(network, sim::ExchangeKind::context_ring, job, job.workers);
        ring.start(network, block.bytes, Instant{});
        const Duration all = network.runs().run_until(Instant::never())->at.since_start();
        // By recurrence: part i arrives after i rounds, and is computed with after part i - 1.
        const Duration part = Duration::of(compute.raw() / 4);
        Duration end;
        for (std::int64_t i = 0; i < 4; ++i) {
            end = std::max(end, Duration::of(i * all.raw() / 3)) + part;
        }
        const sim::StepRecord step = ring_step(topology, job);
        const Duration length = step.end - step.begin - milliseconds(1);
        CHECK(std::abs((length - end).raw()) <= 8);
        CHECK(step.parts.total() == step.end - step.begin);
        CHECK(step.parts.compute == compute + milliseconds(1));
    }
}

TEST_CASE("context: every rank has its part of the tokens, and all of the parameters",
          "[context]") {
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_80gb", "test");
    const sim::KernelClock clock(gpu, sim::Precision::fp16, sim::known_kernel_rates(gpu, "test"),
                                 "test");
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    for (const bool flash : {false, true}) {
        const sim::ModelProfile model = long_transformer(flash);
        const sim::LayerTimes whole = sim::layer_times(model, context_request(1), clock);
        const sim::LayerTimes part = sim::layer_times(model, context_request(4), clock);
        CHECK(part.whole_s / whole.whole_s > 0.24);
        CHECK(part.whole_s / whole.whole_s < 0.32);
        CHECK(part.scores[1].device_s / whole.scores[1].device_s == Approx(0.25).epsilon(0.1));
        const sim::MemoryNeed all = sim::layout_memory(model, context_request(1), rule).need;
        const sim::MemoryNeed quarter = sim::layout_memory(model, context_request(4), rule).need;
        CHECK(4 * quarter.kept == all.kept);
        CHECK(quarter.weights == all.weights);
        // Keys and values of four heads, forward, backward with their gradients.
        const sim::LayoutWork work = sim::make_layout(model, context_request(4, 2), "test", &part);
        Bytes forward;
        Bytes backward;
        for (const sim::ModelBlock& block : work.stages[0].forward) {
            if (block.exchange == sim::ExchangeKind::context_ring) forward += block.bytes;
        }
        for (const sim::ModelBlock& block : work.stages[0].backward) {
            if (block.exchange == sim::ExchangeKind::context_ring) backward += block.bytes;
        }
        CHECK(forward == bytes(4 * 2 * 2 * 2 * (16384 / 4) * (4 / 2) * 64));
        CHECK(backward == 2 * forward);
    }
}

TEST_CASE("context: shares of time stay those of the whole", "[context]") {
    const sim::ModelProfile model = long_transformer(false);
    for (const std::int32_t context : {1, 2, 8}) {
        const sim::LayoutWork work = sim::make_layout(model, context_request(context, 2), "test");
        double shares = 0;
        for (const sim::ModelBlock& block : work.stages[0].forward) shares += block.share;
        for (const sim::ModelBlock& block : work.stages[0].backward) shares += block.share;
        CHECK(shares * 2 * context == Approx(1));
    }
}

TEST_CASE("context: its ranks add up their gradients, without another replica", "[context]") {
    const sim::Topology topology = sim::build_cluster("p3.8xlarge", 2);
    const sim::ModelProfile model = long_transformer(true);
    sim::StepJob job = ring_job(topology);
    job.layout = sim::make_layout(model, context_request(4, 2), "test");
    CHECK(job.samples_per_step() == 1);
    const auto results = sim::run_steps(topology, std::span(&job, 1), {}, {1, 1});
    const sim::StepRecord& step = results.front().steps.front();
    CHECK(step.parts.total() == step.end - step.begin);
    CHECK_FALSE(step.sent.empty());
    CHECK(step.parts.sending > Duration{});
    sim::LayoutRequest parts = context_request(4, 2);
    parts.shard = sim::Shard::parameters;
    job.layout = sim::make_layout(model, parts, "test");
    const sim::StepRecord gathered = ring_step(topology, job);
    CHECK(gathered.parts.total() == gathered.end - gathered.begin);
    CHECK(gathered.parts.exchange > step.parts.exchange);
}

TEST_CASE("context: tokens that it does not divide are refused", "[context]") {
    sim::LayoutRequest request = context_request(3);
    CHECK_THROWS_WITH(
        sim::make_layout(long_transformer(false), request, "here"),
        "here: long has samples of 16384 tokens: no multiple of two parts for each of context 3");
    CHECK_THROWS_WITH(
        sim::make_layout(sim::model_named("resnet50", "test"), context_request(2), "here"),
        Catch::Contains("only transformers are cut"));
}

}  // namespace ukemi
