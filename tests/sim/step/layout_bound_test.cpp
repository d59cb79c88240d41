// layout_bound_test.cpp — no played step is shorter than the bound, and the bound is near.
#include "sim/step/layout_bound.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/layer_times.hpp"
#include "sim/step/layout_space.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

sim::ModelProfile small_transformer(std::int64_t layers = 8) {
    sim::TransformerShape shape;
    shape.layers = layers;
    shape.hidden = 512;
    shape.heads = 8;
    shape.vocabulary = 8000;
    shape.sequence_length = 256;
    shape.positions = 256;
    return sim::gpt2("small", shape);
}

sim::StepJob bound_job(const sim::Topology& topology, const sim::ModelProfile& model,
                       const sim::LayoutRequest& request, bool kernels) {
    sim::StepJob job;
    job.name = "job";
    const std::vector<sim::DeviceId> all = topology.workers();
    const policies::Layout& degrees = request.degrees;
    job.workers.assign(all.begin(), all.begin() + degrees.tensor * request.context * degrees.data *
                                                      degrees.pipeline);
    job.compute.assign(job.workers.size(), milliseconds(20));
    job.update.assign(job.workers.size(), milliseconds(3));
    job.batch = request.batch;
    job.accumulation = request.micro_batches;
    job.steps = 1;
    if (!kernels) {
        job.layout = sim::make_layout(model, request, "test");
        return job;
    }
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_40gb", "test");
    const sim::KernelClock clock(gpu, sim::Precision::fp16, sim::known_kernel_rates(gpu, "test"),
                                 "test");
    const sim::LayerTimes times = sim::layer_times(model, request, clock);
    job.layout = sim::make_layout(model, request, "test", &times);
    job.compute.assign(job.workers.size(), seconds(times.whole_s));
    return job;
}

}  // namespace

TEST_CASE("layout bound: no step of a layout is shorter", "[layout_bound][property]") {
    const sim::ModelProfile even = small_transformer();
    const sim::ModelProfile uneven = small_transformer(14);  // in 8 stages with embedding and loss
    double worst = 1;
    double sum = 0;
    int count = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        RandomStream random(seed, "layout_bound");
        const bool one_machine = random.integer(0, 1) == 0;
        const sim::Topology topology =
            sim::build_cluster(one_machine ? "dgx_a100" : "p3.8xlarge", one_machine ? 1 : 4);
        sim::LayoutRequest like;
        like.value_bytes = 2;
        like.batch = 64;
        const std::int64_t schedule = random.integer(0, 5);
        if (schedule == 0) like.schedule = sim::PipelineKind::zero_bubble;
        if (schedule == 1) like.schedule = sim::PipelineKind::dual_pipe;
        const bool in_pairs = like.schedule == sim::PipelineKind::dual_pipe;
        if (random.integer(0, 3) == 0 && !in_pairs) like.context = 2;
        RandomStream way(seed, "layout_bound/context");
        like.context_exchange = static_cast<sim::ContextExchange>(way.integer(0, 2));
        like.sequence_parallel = random.integer(0, 1) == 0;
        like.buckets.kind = static_cast<sim::BucketKind>(random.integer(0, 2));
        const auto workers = static_cast<std::int64_t>(topology.workers().size());
        const sim::ModelProfile& model = seed % 4 == 3 ? uneven : even;
        const std::vector<sim::LayoutRequest> all = sim::all_layouts(model, like, workers);
        sim::LayoutRequest request = all[static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(all.size()) - 1))];
        if (!in_pairs) request.shard = static_cast<sim::Shard>(random.integer(0, 3));
        request.prefetch = static_cast<std::int32_t>(random.integer(0, 3));
        sim::StepJob job = bound_job(topology, model, request, random.integer(0, 1) == 0);
        job.nccl = random.integer(0, 2) == 0;
        if (!job.nccl && request.shard == sim::Shard::none && random.integer(0, 1) == 0) {
            job.collective = policies::Collective::halving_doubling;
        }
        job.launch.kind = static_cast<sim::LaunchKind>(random.integer(0, 2));
        CAPTURE(seed, request.degrees.tensor, request.degrees.pipeline, request.degrees.data,
                request.batch, request.micro_batches, job.nccl, request.shard);
        const sim::StepRecord step =
            sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
        const Duration least = sim::least_step(topology, job);
        CAPTURE(request.schedule, request.prefetch, request.chunks, least.raw());
        CHECK(least.raw() <= (step.end - step.begin).raw());
        const double share = least / (step.end - step.begin);
        worst = std::min(worst, share);
        sum += share;
        ++count;
    }
    UNSCOPED_INFO(fmt::format("bound of step: mean {:.3f}, least {:.3f}", sum / count, worst));
    CHECK(sum / count > 0.7);
}

TEST_CASE("layout bound: with free exchanges it is the step", "[layout_bound]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 1);
    const sim::ModelProfile model = small_transformer();
    sim::LayoutRequest like;
    like.value_bytes = 2;
    like.batch = 32;
    for (const sim::LayoutRequest& request : sim::all_layouts(model, like, 8)) {
        if (request.degrees.tensor > 1 || request.degrees.data > 1) continue;
        sim::StepJob job = bound_job(topology, model, request, true);
        for (sim::StageWork& stage : job.layout->stages) stage.activations = {};
        job.layout->words = {};
        const sim::StepRecord step =
            sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
        CAPTURE(request.micro_batches, request.chunks);
        CHECK(sim::least_step(topology, job) == step.end - step.begin);
    }
}

TEST_CASE("layout bound: stragglers may be faster than their pace, so there is none",
          "[layout_bound]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 1);
    sim::StepJob job = bound_job(topology, small_transformer(), {}, false);
    job.stragglers.machine = 0.1;
    CHECK(sim::least_step(topology, job) == Duration{});
}

}  // namespace ukemi
