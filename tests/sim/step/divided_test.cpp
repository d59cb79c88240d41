// divided_test.cpp — replicas that divide states, gradients or parameters: when parts are gathered,
// what is sent and held.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/codec_plan.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

// Of one pass after the other: a unit is one block.
struct GatheredUnit {
    Duration compute;
    Bytes part;
};

sim::StepJob gathering_job(const sim::Topology& topology, std::span<const GatheredUnit> forward,
                           std::span<const GatheredUnit> backward, std::int32_t prefetch) {
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.steps = 2;
    job.compute.assign(job.workers.size(), whole_seconds(1));
    sim::LayoutWork work;
    work.degrees.data = static_cast<std::int32_t>(job.workers.size());
    work.prefetch = prefetch;
    sim::StageWork stage;
    const auto blocks = [](std::span<const GatheredUnit> units, std::vector<sim::ModelBlock>& all) {
        for (const GatheredUnit& unit : units) {
            all.push_back({unit.compute / whole_seconds(1)});
            all.back().gathered.of_all = unit.part;
        }
    };
    blocks(forward, stage.forward);
    blocks(backward, stage.backward);
    work.stages = {stage};
    job.layout = work;
    return job;
}

Duration divided_step(const sim::Topology& topology, const sim::StepJob& job) {
    const auto steps = sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps;
    // Alike, but for the nanosecond to which a transfer's end is rounded.
    const Duration first = steps[0].end - steps[0].begin;
    CHECK(std::abs((steps[1].end - steps[1].begin - first).raw()) <= 1);
    CHECK(steps[0].parts.total() == steps[0].end - steps[0].begin);
    return steps[0].end - steps[0].begin;
}

Duration gather_alone(const sim::Topology& topology, const sim::StepJob& job, Bytes part) {
    sim::ClusterNetwork network(topology);
    const sim::PlacedCollective placed =
        sim::placed_parts(network, sim::ExchangeKind::all_gather, job, job.workers);
    placed.start(network, part, Instant{});
    return network.runs().run_until(Instant::never())->at.since_start();
}

// Worked out the plain way: gathers one after another, each asked for when the unit `prefetch`
// before its own is come to; units one after another, each when its gather is over.
Duration by_recurrence(std::span<const GatheredUnit> units, std::span<const Duration> gathers,
                       std::size_t prefetch) {
    std::vector<Duration> come_to(units.size() + 1);
    Duration gathered;
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
        const Duration asked = unit <= prefetch ? Duration{} : come_to[unit - prefetch];
        gathered = std::max(gathered, asked) + gathers[unit];
        come_to[unit + 1] = std::max(come_to[unit], gathered) + units[unit].compute;
    }
    return come_to.back();
}

sim::LayoutRequest divided_request(sim::Shard shard, std::int32_t data, std::int32_t tensor = 1) {
    sim::LayoutRequest request;
    request.degrees = {data, 1, tensor};
    request.value_bytes = 2;
    request.shard = shard;
    request.buckets.kind = sim::BucketKind::one;
    return request;
}

}  // namespace

TEST_CASE("divided: equal units overlap all but the first gather, or all but the last compute",
          "[divided]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    constexpr std::int64_t units = 6;  // forward, and as many backward
    const Bytes part = bytes(10'000'000);
    for (const Duration compute : {milliseconds(3), milliseconds(40)}) {
        const std::vector<GatheredUnit> all(units, GatheredUnit{compute, part});
        const sim::StepJob ahead = gathering_job(topology, all, all, 1);
        const Duration gather = gather_alone(topology, ahead, part);
        const Duration expected =
            compute >= gather ? gather + 2 * units * compute : 2 * units * gather + compute;
        CHECK(std::abs((divided_step(topology, ahead) - expected).raw()) <= 2 * units);
        const Duration none = divided_step(topology, gathering_job(topology, all, all, 0));
        CHECK(std::abs((none - 2 * units * (gather + compute)).raw()) <= 2 * units);
        // More ahead gains nothing where units are equal.
        CHECK(std::abs((divided_step(topology, gathering_job(topology, all, all, 3)) - expected)
                           .raw()) <= 2 * units);
    }
}

TEST_CASE("divided: unequal units keep to the recurrence, however many are gathered ahead",
          "[divided][property]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 3);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        RandomStream random(seed, "divided");
        const auto draw = [&] {
            std::vector<GatheredUnit> units;
            for (std::int64_t i = random.integer(1, 7); i > 0; --i) {
                units.push_back({milliseconds(random.integer(0, 30)),
                                 bytes(random.integer(100'000, 20'000'000))});
            }
            return units;
        };
        const std::vector<GatheredUnit> forward = draw();
        const std::vector<GatheredUnit> backward = draw();
        std::vector<GatheredUnit> all = forward;
        all.insert(all.end(), backward.begin(), backward.end());
        for (const std::int32_t prefetch : {0, 1, 2, 9}) {
            CAPTURE(seed, prefetch);
            const sim::StepJob job = gathering_job(topology, forward, backward, prefetch);
            std::vector<Duration> gathers;
            for (const GatheredUnit& unit : all)
                gathers.push_back(gather_alone(topology, job, unit.part));
            const Duration expected =
                by_recurrence(all, gathers, static_cast<std::size_t>(prefetch));
            const Duration step = divided_step(topology, job);
            CHECK(std::abs((step - expected).raw()) <= 2 * static_cast<std::int64_t>(all.size()));
        }
    }
}

TEST_CASE("divided: computing loses its share of the time in which gathers are on their way",
          "[divided]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    constexpr std::int64_t units = 6;  // forward, and as many backward
    const Bytes part = bytes(10'000'000);
    for (const Duration compute : {milliseconds(3), milliseconds(12), milliseconds(40)}) {
        const std::vector<GatheredUnit> all(units, GatheredUnit{compute, part});
        for (const double share : {0.0, 0.3, 0.7, 1.0}) {
            CAPTURE(compute.raw(), share);
            sim::StepJob job = gathering_job(topology, all, all, 1);
            job.layout->slowed_by_sending = share;
            const Duration gather = gather_alone(topology, job, part);
            const Duration lost = Duration::of(std::llround(share * double(gather.raw())));
            const Duration expected =
                gather + (2 * units - 1) * std::max(gather, compute + lost) + compute;
            CHECK(std::abs((divided_step(topology, job) - expected).raw()) <= 4 * units);
        }
    }
}

TEST_CASE("divided: a block is over once, though sending beside it ends as it does", "[divided]") {
    // Gradients of the first of two blocks are sent while the second computes: at half its pace it
    // takes as long as they do, to the nanosecond or next to it.
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    const auto step_of = [&](Duration last, double slowed) {
        sim::StepJob job = gathering_job(topology, {}, {}, 1);
        const auto share = [](Duration time) { return time / whole_seconds(1); };
        const Bytes sum = bytes(10'000'000);
        sim::StageWork& stage = job.layout->stages.front();
        stage.forward = {{share(milliseconds(5))}};
        stage.backward = {{share(milliseconds(5)), 0.5}, {share(last), 1}};
        stage.buckets = {{"first", sum, 0.5}, {"second", sum, 1}};
        job.layout->slowed_by_sending = slowed;
        return divided_step(topology, job);
    };
    const Duration sum = step_of(whole_seconds(1), 0) - milliseconds(1010);
    CHECK(sum > milliseconds(1));
    for (const std::int64_t off_ns : {-3, -2, -1, 0, 1, 2, 3}) {
        CAPTURE(off_ns);
        const Duration step = step_of(Duration::of(sum.raw() / 2 + off_ns), 0.5);
        CHECK(std::abs((step - milliseconds(10) - 2 * sum).raw()) <= 8);
    }
}

TEST_CASE("divided: no more is lost than if computing waited for all that is sent",
          "[divided][property]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 3);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        RandomStream random(seed, "slowed");
        std::vector<GatheredUnit> units;
        Duration computing;
        for (std::int64_t i = random.integer(1, 7); i > 0; --i) {
            units.push_back(
                {milliseconds(random.integer(0, 30)), bytes(random.integer(100'000, 20'000'000))});
            computing += 2 * units.back().compute;
        }
        for (const std::int32_t prefetch : {0, 1, 9}) {
            CAPTURE(seed, prefetch);
            sim::StepJob job = gathering_job(topology, units, units, prefetch);
            Duration all = computing;
            for (const GatheredUnit& unit : units)
                all += 2 * gather_alone(topology, job, unit.part);
            Duration before;
            for (const double share : {0.0, 0.2, 0.5, 0.8, 1.0}) {
                job.layout->slowed_by_sending = share;
                const Duration step = divided_step(topology, job);
                CHECK(step >= before);
                before = step;
            }
            CHECK(std::abs((before - all).raw()) <= 8 * static_cast<std::int64_t>(units.size()));
        }
    }
}

TEST_CASE("divided: both sums of stages that go both ways slow all who hold them", "[divided]") {
    // Stage 1's sum goes while both compute, stage 0's after all: free, only the latter counts; of
    // sending that takes all of computing, each.
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    const auto step_of = [&](Bytes sum, double slowed) {
        sim::StepJob job;
        job.name = "job";
        job.workers = topology.workers();
        job.launch.overhead = {};
        job.steps = 1;
        job.compute.assign(2, milliseconds(12));
        job.accumulation = 8;
        sim::LayoutWork work;
        work.degrees.pipeline = 2;
        work.schedule = sim::PipelineKind::dual_pipe;
        work.slowed_by_sending = slowed;
        sim::StageWork stage;
        stage.forward = stage.inputs = {{1.0 / 6}};
        stage.backward = {{2.0 / 6, 1}};
        stage.weights = {{1.0 / 6, 1}};
        if (sum > Bytes{}) stage.buckets = {{"sum", sum, 1}};
        work.stages.assign(4, stage);
        job.layout = work;
        return sim::run_steps(topology, std::span(&job, 1), {}, {0, 0}).front().steps.back();
    };
    const auto length = [](const sim::StepRecord& step) { return step.end - step.begin; };
    const Bytes sum = bytes(2'000'000);
    const sim::StepRecord free = step_of(sum, 0);
    const Duration alone = length(free) - length(step_of({}, 0));
    CHECK(alone > milliseconds(1));
    for (const double slowed : {0.3, 0.7, 1.0}) {
        CAPTURE(slowed);
        const sim::StepRecord step = step_of(sum, slowed);
        const std::int64_t lost_ns = std::llround(slowed * double(alone.raw()));
        CHECK(std::abs((length(step) - length(free)).raw() - lost_ns) <= 4);
        // Of the mean worker, so of each of the two.
        CHECK(std::abs((step.parts.compute - free.parts.compute).raw() - lost_ns) <= 4);
        CHECK(step.parts.total() == length(step));
    }
}

TEST_CASE("divided: what blocks a computing worker for long is waited for, not looked at",
          "[divided]") {
    // At a thousandth of its pace a block of a microsecond is over long before the next gather,
    // but for the last; at next to none it waits for the end of each.
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    const Duration compute = nanoseconds(1000);
    const std::vector<GatheredUnit> all(2, GatheredUnit{compute, bytes(10'000'000'000)});
    sim::StepJob job = gathering_job(topology, all, all, 1);
    const Duration gather = gather_alone(topology, job, all.front().part);
    CHECK(gather > whole_seconds(5));
    for (const auto& [share, blocks] : {std::pair{0.999, 1}, {1 - 1e-12, 4}, {1.0, 4}}) {
        CAPTURE(share);
        job.layout->slowed_by_sending = share;
        const Duration expected = 4 * gather + blocks * compute;
        CHECK(std::abs((divided_step(topology, job) - expected).raw()) <= 20);
    }
}

TEST_CASE("divided: a slow replica holds up every gather", "[divided]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 2);
    const std::vector<GatheredUnit> all(4, GatheredUnit{milliseconds(20), bytes(1'000'000)});
    sim::StepJob job = gathering_job(topology, all, all, 1);
    const Duration even = divided_step(topology, job);
    job.compute[1] = whole_seconds(2);
    const Duration slow = divided_step(topology, job);
    CHECK(slow - even == 8 * milliseconds(20));
}

TEST_CASE("divided: memory is ZeRO's, 4 + 12/n, 2 + 14/n and 16/n bytes a parameter", "[divided]") {
    const sim::ModelProfile model = sim::model_named("megatron_8b", "test");
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    const std::int64_t all = model.parameters();
    const std::int64_t unit = 51200 * 3072 + 1024 * 3072;     // the embeddings, the largest
    const std::int64_t block = 12 * 3072 * 3072 + 13 * 3072;  // all others; the first follows them
    constexpr std::int64_t n = 64;
    const std::int64_t part = (all + n - 1) / n;
    const auto need = [&](sim::Shard shard, std::int32_t prefetch = 1) {
        sim::LayoutRequest request = divided_request(shard, n);
        request.prefetch = prefetch;
        return sim::layout_memory(model, request, rule).need;
    };
    CHECK(need(sim::Shard::none).parameters() == bytes(16 * all));
    CHECK(need(sim::Shard::optimiser).parameters() == bytes(4 * all + 12 * part));
    CHECK(need(sim::Shard::gradients).parameters() == bytes(2 * all + 14 * part + 2 * unit));
    CHECK(need(sim::Shard::parameters).parameters() ==
          bytes(16 * part + 2 * unit + 2 * (unit + block)));
    CHECK(need(sim::Shard::parameters, 3).weights - need(sim::Shard::parameters, 0).weights ==
          bytes(3 * 2 * block));
    // No more than all.
    CHECK(need(sim::Shard::parameters, 1000).weights == bytes(2 * (part + all)));
    CHECK(need(sim::Shard::parameters).kept == need(sim::Shard::none).kept);
    // One replica has nothing to divide.
    CHECK(sim::layout_memory(model, divided_request(sim::Shard::parameters, 1), rule)
              .need.parameters() == bytes(16 * all));
}

TEST_CASE("divided: three times the parameters are sent for parameters, twice for the others",
          "[divided]") {
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    constexpr std::int32_t n = 8;
    for (const std::int32_t tensor : {1, 4}) {
        for (const sim::Shard shard :
             {sim::Shard::optimiser, sim::Shard::gradients, sim::Shard::parameters}) {
            const sim::LayoutWork work =
                sim::make_layout(model, divided_request(shard, n, tensor), "test");
            Bytes gathered;
            Bytes scattered;
            const sim::StageWork& stage = work.stages.front();
            for (const sim::ModelBlock& block : stage.forward) gathered += block.gathered.of_all;
            for (const sim::ModelBlock& block : stage.backward) gathered += block.gathered.of_all;
            for (const sim::DividedPart& part : work.updated_parts) gathered += part.of_all;
            for (const sim::GradientBucket& bucket : stage.buckets) {
                REQUIRE(bucket.legs.size() == 1);
                CHECK(bucket.legs[0].lane == sim::scatter_lane);
                scattered += bucket.legs[0].bytes;
            }
            const double whole = model.gradient_bytes(2) / bytes(1) / tensor / n;
            CHECK(scattered / bytes(1) == Approx(whole).epsilon(0.04));
            CHECK(gathered / scattered ==
                  Approx(shard == sim::Shard::parameters ? 2 : 1).epsilon(1e-4));
            CHECK(work.sends_every_pass == (shard != sim::Shard::optimiser));
        }
    }
}

TEST_CASE("divided: a reduce-scatter and a gather take as long as the ring that they are",
          "[divided]") {
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    for (const char* machine : {"p3.2xlarge", "dgx1_v100"}) {
        const sim::Topology topology = sim::build_cluster(machine, 2);
        const auto workers = static_cast<std::int32_t>(topology.workers().size());
        const auto step = [&](sim::Shard shard, Duration update) {
            sim::StepJob job;
            job.name = "job";
            job.workers = topology.workers();
            job.compute.assign(job.workers.size(), milliseconds(50));
            job.update.assign(job.workers.size(), update);
            job.launch.overhead = {};
            job.layout = sim::make_layout(model, divided_request(shard, workers), "test");
            return divided_step(topology, (job.steps = 2, job));
        };
        const Duration whole = step(sim::Shard::none, {});
        const Duration parts = step(sim::Shard::optimiser, {});
        CHECK(parts.raw() == Approx(whole.raw()).epsilon(1e-4));
        // Each updates its own part only.
        const Duration saved = step(sim::Shard::none, milliseconds(16)) -
                               step(sim::Shard::optimiser, milliseconds(16));
        CHECK((saved - (whole - parts)).raw() ==
              Approx((milliseconds(16) - Duration::of(16'000'000 / workers)).raw()).epsilon(1e-4));
    }
}

TEST_CASE("divided: gradients go with every micro-batch", "[divided]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    const sim::ModelProfile model = sim::model_named("bert_base", "test");
    const auto sent = [&](sim::Shard shard) {
        sim::StepJob job;
        job.name = "job";
        job.workers = topology.workers();
        job.compute.assign(4, milliseconds(50));
        job.accumulation = 3;
        job.steps = 1;
        sim::LayoutRequest request = divided_request(shard, 4);
        request.micro_batches = 3;
        job.layout = sim::make_layout(model, request, "test");
        const auto steps = sim::run_steps(topology, std::span(&job, 1), {}, {1, 1});
        return steps.front().steps.front().sent.size();
    };
    CHECK(sent(sim::Shard::optimiser) == 1);
    CHECK(sent(sim::Shard::gradients) == 3);
    CHECK(sent(sim::Shard::parameters) == 3 * (12 + 2));  // blocks, embeddings and pooler
}

TEST_CASE("divided: what cannot be divided is refused", "[divided]") {
    const auto refusal = [](const char* model, sim::LayoutRequest request) {
        try {
            sim::make_layout(sim::model_named(model, "test"), request, "here");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(refusal("resnet50", divided_request(sim::Shard::parameters, 4)) ==
          "here: only transformers' parameters are divided, and resnet50 is none: expected "
          "\"optimiser\" or \"gradients\"");
    sim::LayoutRequest twice = divided_request(sim::Shard::gradients, 4);
    twice.split_dense = true;
    CHECK(refusal("vgg16", twice) ==
          "here: \"split_dense\" divides parameters already: expected \"shard\": \"none\"");
    CHECK(refusal("resnet50", divided_request(sim::Shard::gradients, 4)).empty());
}

}  // namespace ukemi
