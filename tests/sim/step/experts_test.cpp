// experts_test.cpp — blocks with experts: what they count, hold, compute and exchange.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/layer_times.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

sim::TransformerShape small_shape(std::int64_t experts) {
    sim::TransformerShape shape;
    shape.layers = 2;
    shape.hidden = 256;
    shape.heads = 4;
    shape.vocabulary = 1000;
    shape.positions = 64;
    shape.sequence_length = 64;
    shape.experts = experts;
    shape.experts_per_token = std::min<std::int64_t>(experts, 2);
    return shape;
}

sim::LayoutRequest on_replicas(std::int32_t data, std::int32_t expert) {
    sim::LayoutRequest request;
    request.degrees.data = data;
    request.expert = expert;
    request.batch = 4;
    request.value_bytes = 2;
    return request;
}

}  // namespace

// Jiang et al. 2024 (arXiv:2401.04088): 46.7e9 parameters, of which a token has 12.9e9.
TEST_CASE("experts: Mixtral 8x7B has as many parameters as published", "[experts][published]") {
    sim::TransformerShape shape;
    shape.layers = 32;
    shape.hidden = 4096;
    shape.heads = 32;
    shape.kv_heads = 8;
    shape.feed_forward = 14336;
    shape.gated = true;
    shape.vocabulary = 32000;
    shape.sequence_length = 4096;
    shape.positions = 0;  // rotated, not looked up
    shape.experts = 8;
    shape.experts_per_token = 2;
    const sim::ModelProfile model = sim::gpt2("mixtral", shape);
    const double output = 32000.0 * 4096;  // theirs is a matrix of its own
    CHECK(static_cast<double>(model.parameters()) + output == Approx(46.7e9).epsilon(0.002));
    // Two operations a weight of those that a token has; scores and logits aside.
    double products = model.forward_flops() / 4096;
    products -= 32 * 4.0 * 4096 * 4096;
    CHECK(products / 2 + output == Approx(12.9e9).epsilon(0.01));
}

TEST_CASE("experts: one of which each token takes one is a plain block", "[experts]") {
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_40gb", "t");
    const sim::KernelClock clock(gpu, sim::Precision::fp16, sim::known_kernel_rates(gpu, "t"), "t");
    const sim::ModelProfile plain = sim::gpt2("plain", small_shape(1));
    const sim::ModelProfile eight = sim::gpt2("eight", small_shape(8));
    const std::int64_t block = 2 * 256 * 1024 + 1024 + 256;
    CHECK(eight.parameters() - plain.parameters() == 2 * (7 * block + 8 * 256));
    // Twice the arithmetic of the inner layers, and the scores of the experts.
    const double inner = 2 * 2.0 * 2 * 256 * 1024 * 64;
    CHECK(eight.forward_flops() - plain.forward_flops() == inner + 2 * 2.0 * 256 * 8 * 64);
    const sim::LayerTimes few = sim::layer_times(plain, on_replicas(1, 1), clock);
    const sim::LayerTimes many = sim::layer_times(eight, on_replicas(1, 1), clock);
    CHECK(many.whole_s > few.whole_s);
    // On eight ranks each has one expert, to which as many tokens come: larger products.
    const sim::LayerTimes apart = sim::layer_times(eight, on_replicas(8, 8), clock);
    CHECK(apart.whole_s <= many.whole_s);
}

TEST_CASE("experts: a rank holds its part, and sends only what all have", "[experts]") {
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    const sim::LayerRange all{0, model.layers.size()};
    const std::int64_t experts = 2 * 8 * (2 * 256 * 1024 + 1024 + 256);
    const sim::LayoutRequest apart = on_replicas(8, 8);
    CHECK(sim::parameters_held(model, all, on_replicas(8, 1)) == model.parameters());
    CHECK(sim::parameters_held(model, all, apart) == model.parameters() - experts / 8 * 7);
    CHECK(sim::piece_of(model, all, apart).parameters() == model.parameters() - experts);
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    const sim::MemoryNeed need = sim::layout_memory(model, apart, rule).need;
    CHECK(need.weights == 2 * bytes(model.parameters() - experts / 8 * 7));
    CHECK(need.states == 12 * bytes(model.parameters() - experts / 8 * 7));
    CHECK(need.kept == sim::layout_memory(model, on_replicas(8, 1), rule).need.kept);
}

TEST_CASE("experts: four all-to-alls a block, one after another with computing", "[experts]") {
    const sim::Topology topology = sim::build_cluster("p3.8xlarge", 2);
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.batch = 4;
    job.steps = 1;
    job.compute.assign(8, milliseconds(20));
    job.update.assign(8, Duration{});  // or who holds fewer parameters would be done sooner
    const auto step_of = [&](std::int32_t expert) {
        job.layout = sim::make_layout(model, on_replicas(8, expert), "test");
        for (sim::StageWork& stage : job.layout->stages) stage.buckets.clear();
        return sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
    };
    const sim::StepRecord here = step_of(1);
    CHECK(here.parts.exchange == Duration{});
    const sim::StepRecord apart = step_of(8);
    const auto& forward = job.layout->stages.front().forward;
    CHECK(std::ranges::count_if(forward, [](const sim::ModelBlock& block) {
              return block.exchange == sim::ExchangeKind::all_to_all;
          }) == 4);
    const Bytes taken = bytes(4 * 64 * 256 * 2 * 2);  // samples, tokens, values, experts, 2 bytes
    CHECK(forward[2].bytes == taken);
    sim::ClusterNetwork network(topology);
    const sim::PlacedCollective placed =
        sim::placed_exchange(network, sim::ExchangeKind::all_to_all, job, job.workers);
    placed.start(network, taken, Instant{});
    const Duration one = network.runs().run_until(Instant::never())->at.since_start();
    CHECK(apart.parts.exchange == 8 * one);
    // Blocks are rounded to nanoseconds, each by itself.
    const Duration more = apart.end - apart.begin - (here.end - here.begin);
    CHECK(to_seconds(more) == Approx(to_seconds(8 * one)).margin(1e-7));
}

TEST_CASE("experts: what is computed again is sent again", "[experts]") {
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    sim::LayoutRequest request = on_replicas(4, 4);
    const auto count = [&] {
        const sim::LayoutWork work = sim::make_layout(model, request, "test");
        return std::ranges::count_if(work.stages.front().backward,
                                     [](const sim::ModelBlock& block) {
                                         return block.exchange == sim::ExchangeKind::all_to_all;
                                     });
    };
    CHECK(count() == 4);
    request.recompute = true;
    CHECK(count() == 8);
}

}  // namespace ukemi
