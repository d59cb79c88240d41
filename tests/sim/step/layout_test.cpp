// layout_test.cpp — layouts against closed forms: bubbles, traffic, memory, and parts that add up.
#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/layout_bound.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/perfetto_trace.hpp"
#include "sim/step/placed_collective.hpp"
#include "sim/step/step_run.hpp"
#include "tests/sim/step/pipeline_reference.hpp"
#include "tests/sim/step/small_transformer.hpp"

namespace ukemi {

namespace {

sim::StepJob job_on(const sim::Topology& topology, std::size_t workers) {
    sim::StepJob job;
    job.name = "job";
    const std::vector<sim::DeviceId> all = topology.workers();
    job.workers.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(workers));
    job.launch.overhead = {};
    job.steps = 2;
    return job;
}

// Stages of one block each way: 2 ms forward, 4 ms backward, nothing to exchange.
sim::StepJob pipeline_job(const sim::Topology& topology, sim::PipelineKind kind,
                          std::int32_t workers, std::int64_t micro_batches,
                          std::int32_t chunks = 1) {
    sim::StepJob job = job_on(topology, static_cast<std::size_t>(workers));
    const std::int32_t stages = workers * chunks;
    job.compute.assign(job.workers.size(), stages * milliseconds(6));
    job.accumulation = micro_batches;
    sim::LayoutWork work;
    work.degrees.pipeline = workers;
    work.schedule = kind;
    work.chunks = chunks;
    work.stages.assign(static_cast<std::size_t>(stages),
                       {{{1.0 / 3 / stages}}, {{2.0 / 3 / stages, 1}}, {}, {}});
    job.layout = work;
    return job;
}

std::vector<sim::StepRecord> steps_of(const sim::Topology& topology, const sim::StepJob& job,
                                      std::int64_t detailed = 0) {
    return sim::run_steps(topology, std::span(&job, 1), {}, {1, detailed}).front().steps;
}

Bytes exchanged(const sim::LayoutWork& work, sim::ExchangeKind kind,
                std::int64_t* count = nullptr) {
    Bytes sum;
    const auto add = [&](const std::vector<sim::ModelBlock>& blocks) {
        for (const sim::ModelBlock& block : blocks) {
            if (block.exchange != kind) continue;
            sum += block.bytes;
            if (count != nullptr) ++*count;
        }
    };
    for (const sim::StageWork& stage : work.stages) {
        add(stage.forward);
        add(stage.backward);
    }
    return sum;
}

}  // namespace

TEST_CASE("layout: with free transfers the bubble is (p - 1)/m, interleaved (p - 1)/(v m)",
          "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 8);
    for (const std::int32_t p : {2, 4, 8}) {
        for (const std::int64_t m : {1, 4, 8, 16}) {
            for (const sim::PipelineKind kind :
                 {sim::PipelineKind::gpipe, sim::PipelineKind::one_forward_one_backward}) {
                const sim::StepRecord step =
                    steps_of(topology, pipeline_job(topology, kind, p, m)).back();
                CHECK(step.end - step.begin == (m + p - 1) * milliseconds(6));
                CHECK(step.parts.bubble == (p - 1) * milliseconds(6));
                CHECK(step.parts.compute == m * milliseconds(6));
            }
            if (m % p != 0) continue;
            const sim::StepJob job =
                pipeline_job(topology, sim::PipelineKind::interleaved, p, m, 2);
            const sim::StepParts parts = steps_of(topology, job).back().parts;
            CHECK(parts.bubble / parts.compute ==
                  Approx(static_cast<double>(p - 1) / static_cast<double>(2 * m)));
        }
    }
}

TEST_CASE("layout: weights' gradients apart fill the bubble", "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job = pipeline_job(topology, sim::PipelineKind::zero_bubble, 4, 8);
    for (sim::StageWork& stage : job.layout->stages) {
        stage.backward = {{1.0 / 3 / 4}};
        stage.weights = {{1.0 / 3 / 4, 1}};
    }
    const sim::StepRecord step = steps_of(topology, job).back();
    CHECK(step.end - step.begin == 8 * milliseconds(6) + 3 * milliseconds(2));
    CHECK(step.parts.bubble == 3 * milliseconds(2));
    // Cut from a model: the same arithmetic, and gradients leave with their own pass.
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    sim::LayoutRequest request = test::request_of({2, 4, 1}, 2);
    request.micro_batches = 8;
    const auto of = [&](sim::PipelineKind kind) {
        request.schedule = kind;
        sim::StepJob cut = job_on(sim::build_cluster("p3.2xlarge", 8), 8);
        cut.layout = sim::make_layout(model, request, "test");
        cut.compute.assign(8, milliseconds(80));
        cut.accumulation = 8;
        return steps_of(sim::build_cluster("p3.2xlarge", 8), cut).back();
    };
    const sim::StepRecord before = of(sim::PipelineKind::one_forward_one_backward);
    const sim::StepRecord after = of(sim::PipelineKind::zero_bubble);
    CHECK(after.parts.compute.raw() == Approx(before.parts.compute.raw()).epsilon(1e-4));
    CHECK(after.parts.bubble < before.parts.bubble);
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    const sim::LayoutMemory whole = sim::layout_memory(model, request, rule);
    CHECK(whole.micro_batches_kept == 4);
}

TEST_CASE("layout: the first and the last stage add up the gradients of words that both have",
          "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 8);
    sim::TransformerShape shape = test::small_transformer(4, 1);
    const auto words_of = [&](const sim::LayoutRequest& request) {
        return sim::make_layout(sim::gpt2("model", shape), request, "test").words;
    };
    const Bytes matrix = bytes(2 * 1000 * 256);
    CHECK(words_of(test::request_of({2, 4, 1})) == matrix);
    CHECK(words_of(test::request_of({2, 2, 2})) == bytes(matrix.raw() / 2));
    CHECK(words_of(test::request_of({8, 1, 1})) == Bytes{});
    sim::LayoutRequest divided = test::request_of({4, 2, 1});
    divided.shard = sim::Shard::gradients;
    CHECK(words_of(divided) == bytes(matrix.raw() / 4));
    sim::StepJob job = job_on(topology, 8);
    sim::LayoutRequest request = test::request_of({2, 4, 1});
    request.micro_batches = job.accumulation = 4;
    job.compute.assign(8, milliseconds(8));
    job.layout = sim::make_layout(sim::gpt2("model", shape), request, "test");
    const sim::StepRecord step = steps_of(topology, job, 1).back();
    CHECK(step.parts.total() == step.end - step.begin);
    CHECK(sim::least_step(topology, job) <= step.end - step.begin);
    sim::StepJob apart = job;
    apart.layout->words = {};
    const sim::StepRecord less = steps_of(topology, apart).back();
    // Two ranks send a half each and then the sum of a half, every two ranks at once; the network's
    // links have 1.25 GB/s and 64 us, and there are two on the way.
    const Duration more = step.end - step.begin - (less.end - less.begin);
    CHECK(to_seconds(more) ==
          Approx(static_cast<double>(matrix.raw()) / 1.25e9 + 2 * 2 * 64e-6).epsilon(0.01));
    CHECK(step.parts.sending - less.parts.sending == more);
    shape.tied_embedding = false;
    CHECK(words_of(request) == Bytes{});
}

TEST_CASE("layout: DualPipe's steps are those of the recurrence, and both copies add up gradients",
          "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    for (const std::int64_t m : {8, 12}) {
        sim::StepJob job = pipeline_job(topology, sim::PipelineKind::dual_pipe, 4, m);
        job.layout->stages.clear();
        for (int stage = 0; stage < 8; ++stage) {
            sim::StageWork& work = job.layout->stages.emplace_back();
            work.forward = {{1.0 / 3 / 4}};
            work.backward = {{2.0 / 3 / 4, 1}};
            work.inputs = {{1.0 / 3 / 4}};
            work.weights = {{1.0 / 3 / 4, 1}};
        }
        const PassTimes times{
            milliseconds(2), milliseconds(2), {}, milliseconds(2), milliseconds(6)};
        const sim::PipelineSpec spec = job.layout->pipeline(m);
        const sim::StepRecord step = steps_of(topology, job).back();
        CHECK(step.end - step.begin == pipeline_step(spec, times).length);
        CHECK(step.parts.compute == m * milliseconds(6));
        CHECK(step.parts.total() == step.end - step.begin);
    }
    // Cut from a model: twice its parameters and gradients, whose two copies are added up.
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    sim::LayoutRequest request = test::request_of({1, 4, 1}, 2);
    request.micro_batches = 8;
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    request.schedule = sim::PipelineKind::zero_bubble;
    const sim::LayoutMemory one_way = sim::layout_memory(model, request, rule);
    request.schedule = sim::PipelineKind::dual_pipe;
    const sim::LayoutMemory both_ways = sim::layout_memory(model, request, rule);
    CHECK(one_way.micro_batches_kept == 4);
    CHECK(both_ways.micro_batches_kept == 5);
    const sim::LayoutWork work = sim::make_layout(model, request, "test");
    CHECK(work.adders() == 2);
    const std::vector<sim::DeviceId> all = topology.workers();
    CHECK(work.adders_of(all, 0, 1) == std::vector{all[1], all[2]});
    sim::StepJob job = job_on(topology, 4);
    job.layout = work;
    job.compute.assign(4, milliseconds(80));
    job.accumulation = 8;
    const sim::StepRecord step = steps_of(topology, job).back();
    CHECK(step.parts.sending > Duration{});
    CHECK(step.parts.total() == step.end - step.begin);
    CHECK(sim::least_step(topology, job) <= step.end - step.begin);
}

TEST_CASE("layout: what a pass of a pair sends is hidden while the other computes", "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.16xlarge", 1);
    const auto step_of = [&](sim::PipelineKind kind, Bytes size) {
        sim::StepJob job = pipeline_job(topology, sim::PipelineKind::dual_pipe, 4, 24);
        job.workers = topology.workers();
        job.compute.assign(8, 4 * milliseconds(6));
        sim::LayoutWork& layout = *job.layout;
        layout.degrees.tensor = 2;
        layout.schedule = kind;
        layout.stages.clear();
        const bool both = kind == sim::PipelineKind::dual_pipe;
        const auto part = [&](double share) {
            sim::ModelBlock block{share / 3 / 4 / 4};
            block.exchange = sim::ExchangeKind::tensor_all_reduce;
            block.bytes = size;
            return std::vector(4, block);
        };
        for (int stage = 0; stage < (both ? 8 : 4); ++stage) {
            sim::StageWork& work = layout.stages.emplace_back();
            work.forward = part(1);
            work.backward = part(both ? 2 : 1);
            if (both) work.inputs = part(1);
            work.weights = {{1.0 / 3 / 4, 1}};
        }
        return steps_of(topology, job).back();
    };
    // Of 10 MB, about 0.3 ms: each block computes for 0.5 or 1 ms.
    const sim::StepRecord one_way = step_of(sim::PipelineKind::zero_bubble, bytes(10'000'000));
    const sim::StepRecord both_ways = step_of(sim::PipelineKind::dual_pipe, bytes(10'000'000));
    CHECK(both_ways.parts.total() == both_ways.end - both_ways.begin);
    CHECK(both_ways.parts.compute == one_way.parts.compute);
    CHECK(one_way.parts.exchange > 3 * both_ways.parts.exchange);
    CHECK(both_ways.end - both_ways.begin < one_way.end - one_way.begin);
    // Nothing is sent: as long as by the recurrence, or sooner, as passes of a pair end apart.
    const sim::StepRecord free = step_of(sim::PipelineKind::dual_pipe, Bytes{});
    const PassTimes times{milliseconds(2), milliseconds(2), {}, milliseconds(2), milliseconds(6)};
    const sim::PipelineSpec spec{sim::PipelineKind::dual_pipe, 4, 24, 1};
    CHECK(to_seconds(free.end - free.begin) <=
          to_seconds(pipeline_step(spec, times).length) + 1e-9);
    CHECK(free.parts.exchange == Duration{});
}

TEST_CASE("layout: activations between stages are flows on real links", "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job = pipeline_job(topology, sim::PipelineKind::gpipe, 4, 1);
    for (sim::StageWork& stage : job.layout->stages) stage.activations = bytes(10'000'000);
    sim::Routes routes(topology);
    const double transfer_s = 10e6 / routes.bandwidth(job.workers[0], job.workers[1]).raw() +
                              to_seconds(routes.latency(job.workers[0], job.workers[1]));
    const sim::StepRecord step = steps_of(topology, job).front();
    CHECK(to_seconds(step.end - step.begin) == Approx(4 * 0.006 + 6 * transfer_s).epsilon(1e-6));
    CHECK(step.parts.total() == step.end - step.begin);
    // Each worker waits for one transfer each way at most; those at the ends for one in all.
    CHECK(to_seconds(step.parts.transfer) == Approx(6 * transfer_s / 4).epsilon(1e-6));
    // Cross traffic on a link in the middle takes half of it.
    const std::vector<sim::CrossTraffic> traffic = {{job.workers[1], job.workers[2], 1}};
    const auto crossed = sim::run_steps(topology, std::span(&job, 1), traffic, {});
    CHECK(crossed[0].steps[0].parts.transfer > step.parts.transfer);
}

// GPipe, forward 2 ms and backward 4 ms a micro-batch times `pace`, where a stage's messages leave
// one after the other and arrive later: when each is over, from when what it needs has come.
double gpipe_s(int stages, int micro_batches, double sending_s, double latency_s, double pace) {
    std::vector<double> come(static_cast<std::size_t>(micro_batches));
    const auto cross = [&](double pass_s, double idle_since) {
        double sent = 0;
        for (double& one : come) {
            idle_since = std::max(idle_since, one) + pass_s;
            sent = std::max(sent, idle_since) + sending_s;
            one = sent + latency_s;
        }
        return idle_since;
    };
    std::vector<double> forwards;
    for (int stage = 0; stage < stages; ++stage) forwards.push_back(cross(0.002 * pace, 0));
    std::ranges::fill(come, 0);
    double end = 0;
    for (int stage = stages; stage-- > 0;) {
        end = cross(0.004 * pace, forwards[static_cast<std::size_t>(stage)]);
    }
    return end;
}

TEST_CASE("layout: what a stage sends to the next leaves one after the other", "[layout]") {
    for (const Duration latency : {nanoseconds(1000), milliseconds(20)}) {
        sim::FabricSpec fabric;
        fabric.latency = latency;
        const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4, fabric);
        for (const std::int64_t size : {1'000'000, 5'000'000, 20'000'000, 200'000'000}) {
            double before_s = 0;
            for (const double pace : {0.001, 1.0, 4.0, 20.0}) {
                CAPTURE(size, pace);
                sim::StepJob job = pipeline_job(topology, sim::PipelineKind::gpipe, 4, 16);
                for (Duration& compute : job.compute) {
                    compute =
                        Duration::of(round_nearest(static_cast<double>(compute.raw()) * pace));
                }
                for (sim::StageWork& stage : job.layout->stages) stage.activations = bytes(size);
                sim::Routes routes(topology);
                const sim::DeviceId a = job.workers[0];
                const sim::DeviceId b = job.workers[1];
                const double sending_s = static_cast<double>(size) / routes.bandwidth(a, b).raw();
                const double latency_s = to_seconds(routes.latency(a, b));
                const sim::StepRecord step = steps_of(topology, job).front();
                const double step_s = to_seconds(step.end - step.begin);
                CHECK(step_s == Approx(gpipe_s(4, 16, sending_s, latency_s, pace)).epsilon(1e-5));
                CHECK(step_s > before_s);  // the slower, the longer
                before_s = step_s;
            }
        }
    }
}

TEST_CASE("layout: Megatron's traffic is four all-reduces of b s h a block, six with recompute",
          "[layout]") {
    const sim::ModelProfile model = sim::model_named("megatron_8b", "test");
    for (const std::int32_t pipeline : {1, 2, 4}) {
        sim::LayoutRequest request = test::request_of({1, pipeline, 8}, 4);
        std::int64_t count = 0;
        const Bytes sent = exchanged(sim::make_layout(model, request, "test"),
                                     sim::ExchangeKind::tensor_all_reduce, &count);
        const auto traffic = sim::tensor_parallel_traffic(72, 4, 1024, 3072, 2);
        CHECK(count == traffic.all_reduces);
        CHECK(sent == traffic.all_reduces * traffic.each);
        request.recompute = true;
        const Bytes again = exchanged(sim::make_layout(model, request, "test"),
                                      sim::ExchangeKind::tensor_all_reduce);
        CHECK(2 * again == 3 * sent);
    }
}

TEST_CASE("layout: shards hold the model once, and shares of its time add up to it", "[layout]") {
    const sim::ModelProfile model = sim::model_named("megatron_8b", "test");
    for (const policies::Layout degrees : {policies::Layout{1, 1, 1}, policies::Layout{1, 1, 8},
                                           policies::Layout{1, 4, 1}, policies::Layout{1, 8, 4}}) {
        const sim::LayoutWork work = sim::make_layout(model, test::request_of(degrees), "test");
        double shares = 0;
        Bytes gradients;
        for (const sim::StageWork& stage : work.stages) {
            for (const sim::ModelBlock& block : stage.forward) shares += block.share;
            for (const sim::ModelBlock& block : stage.backward) shares += block.share;
            CHECK(stage.backward.back().gradients_ready == 1);
            for (const sim::GradientBucket& bucket : stage.buckets) gradients += bucket.bytes;
        }
        CHECK(shares * degrees.tensor == Approx(1));
        // The last stage of a pipeline has the words' embedding once more.
        const Bytes words = bytes(2 * model.tensors.front().elements);
        const Bytes whole = model.gradient_bytes(2) + (degrees.pipeline > 1 ? words : Bytes{});
        CHECK(degrees.tensor * gradients >= whole);
        CHECK((degrees.tensor * gradients) / whole ==
              Approx(1).epsilon(0.005));  // norms, positions
    }
}

TEST_CASE("layout: a tensor group's exchanges take as long as its all-reduces alone", "[layout]") {
    const sim::Topology dgx = sim::build_cluster("dgx1_v100", 1);
    sim::StepJob job = job_on(dgx, 8);
    const sim::ModelProfile model = sim::model_named("gpt2_xl", "test");
    CHECK_THROWS_AS(sim::make_layout(model, test::request_of({1, 1, 8}), "test"),
                    InputError);  // 25 heads
    sim::LayoutRequest request = test::request_of({1, 1, 8}, 2);
    const sim::ModelProfile large = sim::model_named("bert_large_512", "test");
    job.layout = sim::make_layout(large, request, "test");
    job.compute.assign(8, milliseconds(80));
    const sim::StepRecord step = steps_of(dgx, job).front();
    sim::ClusterNetwork network(dgx);
    const sim::PlacedCollective ring(network, policies::Collective::ring, job.workers, 8, "test");
    ring.start(network, bytes(2 * 2 * 512 * 1024), Instant{});
    const Duration once = network.runs().run_until(Instant::never())->at.since_start();
    CHECK(step.parts.exchange.raw() == Approx((96 * once).raw()).epsilon(1e-4));
    CHECK(to_seconds(step.parts.compute) == Approx(0.010).epsilon(1e-5));
    CHECK(step.parts.total() == step.end - step.begin);
}

TEST_CASE("layout: replicas that are not cut take the steps of a plain job", "[layout]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job = job_on(topology, 4);
    job.compute.assign(4, milliseconds(90));
    job.per_host = 1;
    job.stragglers.independent = 0.1;
    job.steps = 3;
    const sim::ModelProfile model = sim::model_named("resnet50", "test");
    sim::LayoutRequest request = test::request_of({4, 1, 1}, 32);
    request.value_bytes = 4;
    sim::StepJob cut = job;
    cut.layout = sim::make_layout(model, request, "test");
    job.buckets = sim::gradient_buckets(model, {}, 4, "test");
    const auto plain = steps_of(topology, job);
    const auto layout = steps_of(topology, cut);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        // Buckets wait for the slowest replica's own layers; else all is the same.
        CHECK((layout[i].end - layout[i].begin).raw() ==
              Approx((plain[i].end - plain[i].begin).raw()).epsilon(0.02));
        CHECK(layout[i].parts.compute.raw() == Approx(plain[i].parts.compute.raw()).epsilon(1e-5));
        CHECK(layout[i].parts.total() == layout[i].end - layout[i].begin);
    }
}

TEST_CASE("layout: parts add up for random layouts, schedules and stragglers",
          "[layout][property]") {
    const sim::Topology topology = sim::build_cluster("dgx1_v100", 4);
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "layout");
        const auto power = [&](std::int64_t most) {
            return std::int32_t{1} << random.integer(0, most - 1);
        };
        sim::LayoutRequest request = test::request_of({power(3), power(2), power(3)}, 4);
        request.schedule = static_cast<sim::PipelineKind>(random.integer(0, 3));
        if (request.schedule == sim::PipelineKind::interleaved) request.chunks = power(2);
        request.micro_batches = request.degrees.pipeline * power(3);
        request.recompute = random.integer(0, 1) == 0;
        request.shard = static_cast<sim::Shard>(random.integer(0, 3));
        request.prefetch = static_cast<std::int32_t>(random.integer(0, 2));
        const policies::Layout& degrees = request.degrees;
        sim::StepJob job = job_on(
            topology, static_cast<std::size_t>(degrees.data * degrees.pipeline * degrees.tensor));
        job.layout = sim::make_layout(model, request, "test");
        job.compute.assign(job.workers.size(), milliseconds(30));
        job.accumulation = request.micro_batches;
        job.launch.kind = static_cast<sim::LaunchKind>(random.integer(0, 2));
        job.stragglers = {0.2, 0.1, 0.1};
        job.input.samples_per_second = 400;
        Instant begin;
        for (const sim::StepRecord& step : steps_of(topology, job)) {
            CHECK(step.begin == begin);
            CHECK(step.parts.total() == step.end - step.begin);
            begin = step.end;
        }
        CHECK(steps_of(topology, job).back().end == begin);
    }
}

TEST_CASE("layout: what is kept is Korthikanti's s b h (10 + 24/t + 5 a s/(h t)) a block",
          "[layout]") {
    const sim::ModelProfile model = sim::model_named("megatron_8b", "test");
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    const std::int64_t width = 1024 * 3072;
    for (const std::int32_t t : {1, 2, 8}) {
        const sim::LayoutMemory memory =
            sim::layout_memory(model, test::request_of({1, 1, t}, 3), rule);
        const std::int64_t block = width * 10 + (width * 24 + 5 * 32 * 1024 * 1024) / t;
        const std::int64_t logits = 6 * 1024 * (51200 / t) + 4 * width;
        CHECK(memory.need.kept == bytes(3 * (72 * block + logits)));
    }
    // One rank of one: as the model's own profile counts it.
    const sim::LayoutMemory one = sim::layout_memory(model, test::request_of({1, 1, 1}, 3), rule);
    CHECK(one.need.parameters() == sim::memory_need(model, 3, rule).parameters());
    CHECK(one.need.kept / sim::memory_need(model, 3, rule).kept == Approx(1).epsilon(0.01));
    sim::LayoutRequest cut = test::request_of({64, 1, 8}, 8);
    cut.recompute = true;
    const sim::GpuProfile& v100 = sim::gpu_named("v100_sxm2_32gb", "test");
    CHECK_NOTHROW(sim::check_layout_memory(model, v100, cut, rule, "here"));
    cut.batch = 4096;
    CHECK_THROWS_WITH(sim::check_layout_memory(model, v100, cut, rule, "here"),
                      Catch::StartsWith("here: megatron_8b with a batch of 4096 needs ") &&
                          Catch::Contains(" bytes on pipeline rank 0 ") &&
                          Catch::Contains("v100_sxm2_32gb has 34359738368: the largest batch"));
    sim::MemoryRule with_rest = rule;
    with_rest.values_exchanged = 1;
    CHECK_THROWS_WITH(
        sim::check_layout_memory(model, v100, cut, with_rest, "here"),
        Catch::Contains(", kept of the exchange ") && Catch::Contains(", kept for 1"));
}

TEST_CASE("layout: schedules keep m micro-batches, p of them, or some more when interleaved",
          "[layout]") {
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    sim::LayoutRequest request = test::request_of({1, 4, 1}, 1);
    request.micro_batches = 16;
    const auto kept = [&](sim::PipelineKind kind, std::int32_t chunks) {
        request.schedule = kind;
        request.chunks = chunks;
        return sim::layout_memory(model, request, rule).need.kept;
    };
    const Bytes gpipe = kept(sim::PipelineKind::gpipe, 1);
    const Bytes alternating = kept(sim::PipelineKind::one_forward_one_backward, 1);
    CHECK(gpipe == 4 * alternating);
    const Bytes interleaved = kept(sim::PipelineKind::interleaved, 3);
    CHECK(interleaved > alternating);
    CHECK(interleaved < gpipe);
}

TEST_CASE("layout: fully connected layers split over devices save their parameters", "[layout]") {
    const sim::ModelProfile model = sim::model_named("vgg16", "test");
    sim::LayoutRequest request = test::request_of({8, 1, 1}, 32);
    request.value_bytes = 4;
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp32, sim::OptimiserKind::momentum);
    const Bytes whole = sim::layout_memory(model, request, rule).need.parameters();
    request.split_dense = true;
    const Bytes split = sim::layout_memory(model, request, rule).need.parameters();
    // fc6, fc7 and fc8 hold 123,642,856 of 138,357,544 parameters; an eighth of them stays.
    CHECK(whole - split == 12 * bytes(123'642'856 - 123'642'856 / 8));
    const sim::LayoutWork work = sim::make_layout(model, request, "test");
    Bytes gradients;
    for (const sim::GradientBucket& bucket : work.stages[0].buckets) gradients += bucket.bytes;
    CHECK(gradients == bytes(4 * (138'357'544 - 123'642'856)));
    // Forward and backward: outputs to their owners, and their gradients back.
    CHECK(exchanged(work, sim::ExchangeKind::all_to_all) ==
          bytes(2 * 4 * 32 * (4096 + 4096 + 1000)));
    const Bytes inputs = bytes(4 * 32 * (25'088 + 4096 + 4096));
    CHECK(exchanged(work, sim::ExchangeKind::all_gather) == inputs);
    CHECK(exchanged(work, sim::ExchangeKind::reduce_scatter) == inputs);
    // On a slow network it pays: 59 MB instead of 553 are summed.
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 8);
    sim::StepJob job = job_on(topology, 8);
    job.compute.assign(8, milliseconds(300));
    sim::StepJob cut = job;
    cut.layout = work;
    job.per_host = 1;
    job.buckets = sim::gradient_buckets(model, {}, 4, "test");
    const sim::StepRecord before = steps_of(topology, job).front();
    const sim::StepRecord after = steps_of(topology, cut).front();
    CHECK(after.parts.exchange > Duration{});
    CHECK(after.end - after.begin < before.end - before.begin);
}

TEST_CASE("layout: synchronised batch normalisation waits for two small sums a layer", "[layout]") {
    const sim::ModelProfile model = sim::model_named("resnet50", "test");
    sim::LayoutRequest request = test::request_of({4, 1, 1}, 32);
    request.synchronised_norm = true;
    const sim::LayoutWork work = sim::make_layout(model, request, "test");
    std::int64_t count = 0;
    const Bytes sent = exchanged(work, sim::ExchangeKind::all_reduce, &count);
    CHECK(count == 2 * 53);  // He et al.: a normalisation after each of 53 convolutions
    CHECK(sent == bytes(4 * (4 * 26'560 + 53)));  // of 26,560 channels
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job = job_on(topology, 4);
    job.compute.assign(4, milliseconds(90));
    job.layout = work;
    const sim::StepParts parts = steps_of(topology, job).front().parts;
    // 106 rings of three machines' latency there and back; bytes hardly count.
    sim::Routes routes(topology);
    const Duration hop = routes.latency(job.workers[0], job.workers[1]);
    CHECK(parts.exchange >= 106 * (6 * hop));
    CHECK(parts.exchange < 2 * (106 * (6 * hop)));
    CHECK_THROWS_WITH(sim::make_layout(sim::model_named("vgg16", "test"), request, "here"),
                      "here: \"batch_norm\": \"synchronised\": vgg16 has no batch normalisation");
}

TEST_CASE("layout: what cannot be cut is refused", "[layout]") {
    const auto refusal = [](const char* model, policies::Layout degrees) {
        try {
            sim::make_layout(sim::model_named(model, "test"), test::request_of(degrees), "here");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(refusal("resnet50", {1, 2, 1}) ==
          "here: only transformers are cut or computed again, and resnet50 is none");
    CHECK(refusal("bert_base", {1, 5, 1}) ==
          "here: bert_base has 12 blocks: neither they nor two more, embedding and loss, give 5 "
          "stages as many each");
    CHECK(refusal("bert_base", {1, 1, 8}) ==
          "here: bert_base has 12 heads of a hidden size of 768: no multiples of tensor 8");
}

TEST_CASE("layout: a trace shows passes, bubbles and exchanges", "[layout]") {
    const sim::Topology topology = sim::build_cluster("dgx1_v100", 1);
    sim::StepJob job = job_on(topology, 8);
    sim::LayoutRequest request = test::request_of({1, 4, 2}, 4);
    request.micro_batches = 4;
    job.layout = sim::make_layout(sim::model_named("bert_base", "test"), request, "test");
    job.compute.assign(8, milliseconds(30));
    job.accumulation = 4;
    const std::vector<sim::JobSteps> results =
        sim::run_steps(topology, std::span(&job, 1), {}, {1, 1});
    const std::string text = sim::perfetto_trace(topology, std::span(&job, 1), results);
    for (const char* name : {"\"forward 3\"", "\"backward 0\"", "\"bubble\"", "\"all-reduce\""}) {
        CHECK_THAT(text, Catch::Contains(name));
    }
    // Without overlap, the spans of a worker's row that are not within others fill its step.
    const sim::StepRecord& step = results[0].steps[0];
    Duration filled;
    for (const sim::WorkSpan& span : step.spans) {
        if (span.rank == 0 && span.name != "all-reduce") filled += span.end - span.begin;
    }
    CHECK(filled == step.end - step.begin);
}

}  // namespace ukemi
