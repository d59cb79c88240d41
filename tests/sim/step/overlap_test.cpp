// overlap_test.cpp — tensor groups that gather and scatter in pieces beside their products.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/layer_times.hpp"
#include "sim/step/layout_bound.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

sim::LayoutRequest overlapped(std::int32_t tensor, bool overlap = true) {
    sim::LayoutRequest request;
    request.degrees = {1, 1, tensor};
    request.batch = 2;
    request.value_bytes = 2;
    request.sequence_parallel = true;
    request.overlap_tensor = overlap;
    return request;
}

sim::ModelProfile two_blocks() {
    sim::TransformerShape shape;
    shape.layers = 2;
    shape.hidden = 1024;
    shape.heads = 16;
    shape.vocabulary = 1000;
    shape.sequence_length = 512;
    shape.positions = 512;
    return sim::gpt2("two", shape);
}

struct PiecesSent {
    Duration gather;
    Duration scatter;
};
PiecesSent pieces_sent(const sim::Topology& topology, const sim::StepJob& job, Bytes part) {
    const auto time_of = [&](sim::ExchangeKind kind) {
        sim::ClusterNetwork network(topology);
        const sim::PlacedCollective placed = sim::placed_parts(network, kind, job, job.workers);
        placed.start(network, part, Instant{});
        return network.runs().run_until(Instant::never())->at.since_start();
    };
    return {time_of(sim::ExchangeKind::all_gather), time_of(sim::ExchangeKind::reduce_scatter)};
}

}  // namespace

TEST_CASE("overlapped tensor groups: every product has its limits", "[overlap]") {
    const sim::Topology topology = sim::build_cluster("p3.8xlarge", 1);
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.steps = 1;
    const sim::ModelProfile model = two_blocks();
    job.layout = sim::make_layout(model, overlapped(4), "test");
    const Bytes part = bytes(2 * 512 * 1024 * 2 / 4);
    const PiecesSent sent = pieces_sent(topology, job, part);
    std::int64_t beside = 0;
    // Of the whole step: in which nothing can be hidden, something, and all.
    for (const Duration compute :
         {nanoseconds(100), milliseconds(2), milliseconds(6), seconds(10)}) {
        CAPTURE(compute.raw());
        job.compute.assign(4, compute);
        const sim::StepRecord step =
            sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
        Duration length;
        Duration computed;
        beside = 0;
        for (const auto& blocks : {job.layout->stages[0].forward, job.layout->stages[0].backward}) {
            for (const sim::ModelBlock& block : blocks) {
                CHECK(block.share >= 0);
                const Duration own =
                    Duration::of(round_nearest(block.share * static_cast<double>(compute.raw())));
                computed += own;
                // A first or last piece of four is computed while nothing of it is sent.
                Duration end = own;
                if (block.exchange) {
                    ++beside;
                    const bool gathers = block.exchange == sim::ExchangeKind::tensor_gather;
                    CHECK(block.bytes == part);
                    end = std::max(
                        own, (gathers ? sent.gather : sent.scatter) + Duration::of(own.raw() / 4));
                }
                length += end;
            }
        }
        CHECK(step.end - step.begin == length);
        CHECK(step.parts.exchange == length - computed);
        CHECK(step.parts.total() == step.end - step.begin);
        CHECK(sim::least_step(topology, job) <= length);
        if (compute == seconds(10)) CHECK(step.parts.exchange == Duration{});
    }
    // Two halves of two blocks, forward and back, gather and scatter.
    CHECK(beside == 16);
}

TEST_CASE("overlapped tensor groups: never slower than one after another, pieces aside",
          "[overlap]") {
    const sim::Topology topology = sim::build_cluster("p3.8xlarge", 1);
    const sim::ModelProfile model = two_blocks();
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.steps = 1;
    for (const Duration compute : {milliseconds(1), milliseconds(10), milliseconds(100)}) {
        job.compute.assign(4, compute);
        const auto step_of = [&](bool overlap) {
            job.layout = sim::make_layout(model, overlapped(4, overlap), "test");
            const sim::StepRecord step =
                sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
            return step.end - step.begin;
        };
        CHECK(step_of(true) < step_of(false));
    }
}

TEST_CASE("overlapped tensor groups: pieces of products are smaller, and more kernels",
          "[overlap]") {
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_80gb", "test");
    const sim::KernelClock clock(gpu, sim::Precision::fp16, sim::known_kernel_rates(gpu, "test"),
                                 "test");
    const sim::ModelProfile model = two_blocks();
    const sim::LayerTimes whole = sim::layer_times(model, overlapped(4, false), clock);
    const sim::LayerTimes pieces = sim::layer_times(model, overlapped(4), clock);
    CHECK(pieces.whole_s > whole.whole_s);
    // Attention's first product: of three matrices, one kernel a piece, and its bias.
    CHECK(pieces.ends[1].first.launch_s - whole.ends[1].first.launch_s ==
          Approx(3 * clock.launch_seconds()));
    for (const auto kind :
         {sim::PipelineKind::one_forward_one_backward, sim::PipelineKind::zero_bubble}) {
        sim::LayoutRequest request = overlapped(4);
        request.schedule = kind;
        double sum = 0;
        const sim::LayoutWork work = sim::make_layout(model, request, "test", &pieces);
        const sim::StageWork& stage = work.stages.front();
        for (const auto& blocks : {stage.forward, stage.backward, stage.weights}) {
            for (const sim::ModelBlock& block : blocks) {
                CHECK(block.share >= 0);
                sum += block.share;
            }
        }
        CHECK(sum == Approx(1));
    }
}

TEST_CASE("overlapped tensor groups: go with sequence parallelism", "[overlap]") {
    const sim::ModelProfile model = two_blocks();
    sim::LayoutRequest request = overlapped(4);
    request.sequence_parallel = false;
    CHECK_THROWS_WITH(sim::make_layout(model, request, "here"),
                      "here: \"overlap_tensor\" goes with \"sequence_parallel\": true and tensor "
                      "above 1");
    CHECK_THROWS_AS(sim::make_layout(model, overlapped(1), "here"), InputError);
}

}  // namespace ukemi
