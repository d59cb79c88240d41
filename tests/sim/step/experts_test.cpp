// experts_test.cpp — blocks with experts: what they count, hold, compute and exchange.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/layer_times.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"
#include "sim/step/step_run.hpp"
#include "tests/sim/step/small_transformer.hpp"

namespace ukemi {
namespace {

sim::TransformerShape small_shape(std::int64_t experts) {
    return test::small_transformer(2, experts);
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
    const auto held = [&](const sim::LayoutRequest& request) {
        return sim::ModelPieces(model, request).parameters(all);
    };
    CHECK(held(on_replicas(8, 1)) == model.parameters());
    CHECK(held(apart) == model.parameters() - experts / 8 * 7);
    const auto sent = [&](const sim::LayoutRequest& request, sim::TensorSums sums) {
        return sim::ModelPieces(model, request).piece(all, sums).parameters();
    };
    CHECK(sent(apart, sim::TensorSums::by_all) == model.parameters() - experts);
    CHECK(sent(apart, sim::TensorSums::by_some) == experts / 8);
    CHECK(sim::make_layout(model, apart, "test").stages.front().expert_buckets.empty());
    // On four of eight: the gradients of two experts each, between two that have them.
    CHECK(sent(on_replicas(8, 4), sim::TensorSums::by_some) == experts / 4);
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
              return block.exchange == sim::ExchangeKind::token_all_to_all;
          }) == 4);
    const Bytes taken = bytes(4 * 64 * 256 * 2 * 2);  // samples, tokens, values, experts, 2 bytes
    CHECK(forward[2].bytes == taken);
    sim::ClusterNetwork network(topology);
    const sim::PlacedCollective placed =
        sim::placed_exchange(network, sim::ExchangeKind::token_all_to_all, job, job.workers);
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
        return std::ranges::count_if(
            work.stages.front().backward, [](const sim::ModelBlock& block) {
                return block.exchange == sim::ExchangeKind::token_all_to_all;
            });
    };
    CHECK(count() == 4);
    request.recompute = true;
    CHECK(count() == 8);
}

namespace {

// Of the kind's blocks in both passes: how many, and bytes of each, which are all alike.
struct TokensSent {
    std::int64_t count = 0;
    Bytes each;
};
TokensSent all_alike(const sim::LayoutWork& work, sim::ExchangeKind kind) {
    TokensSent all;
    for (const auto& blocks : {work.stages.front().forward, work.stages.front().backward}) {
        for (const sim::ModelBlock& block : blocks) {
            if (block.exchange != kind) continue;
            CHECK((all.count == 0 || all.each == block.bytes));
            ++all.count;
            all.each = block.bytes;
        }
    }
    return all;
}

sim::LayoutRequest with_groups(std::int32_t tensor, std::int32_t context, std::int32_t data,
                               std::int32_t expert) {
    sim::LayoutRequest request = on_replicas(data, expert);
    request.degrees.tensor = tensor;
    request.context = context;
    return request;
}

}  // namespace

TEST_CASE("experts: in a tensor group tokens are sent whole or divided", "[experts]") {
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    const Bytes tokens = bytes(4 * 64 * 256 * 2);  // samples, tokens, values, 2 bytes
    sim::LayoutRequest request = with_groups(2, 1, 4, 4);
    const sim::LayoutWork whole = sim::make_layout(model, request, "test");
    const TokensSent sent = all_alike(whole, sim::ExchangeKind::token_all_to_all);
    CHECK(sent.count == 8);
    CHECK(sent.each == 2 * tokens);
    // Attention's and the experts', forward and back, of each of two blocks.
    const TokensSent summed = all_alike(whole, sim::ExchangeKind::tensor_all_reduce);
    CHECK(summed.count == 8);
    CHECK(summed.each == tokens);
    // Sums come after the tokens are back.
    const auto& forward = whole.stages.front().forward;
    const auto last = std::ranges::find_if(forward.rbegin(), forward.rend(), [](const auto& block) {
        return block.exchange == sim::ExchangeKind::token_all_to_all;
    });
    CHECK((last - 1)->exchange == sim::ExchangeKind::tensor_all_reduce);
    request.sequence_parallel = true;
    const sim::LayoutWork divided = sim::make_layout(model, request, "test");
    CHECK(all_alike(divided, sim::ExchangeKind::token_all_to_all).each == tokens);  // 2 / 2
    Bytes largest;
    for (const sim::ModelBlock& block : divided.stages.front().forward) {
        if (block.exchange == sim::ExchangeKind::tensor_all_reduce) {
            largest = std::max(largest, block.bytes);
        }
    }
    CHECK(largest == 2 * tokens);  // of each token as often as it is sent
    // Half of the tokens each in a context group.
    const sim::LayoutWork shorter = sim::make_layout(model, with_groups(1, 2, 2, 2), "test");
    CHECK(all_alike(shorter, sim::ExchangeKind::token_all_to_all).each == tokens);
}

TEST_CASE("experts: a tensor group cuts them, and memory counts each part", "[experts]") {
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    // Of one expert: two matrices and the inner bias are cut, the outer bias is not.
    const std::int64_t one = (2 * 256 * 1024 + 1024) / 2 + 256;
    const auto held = [&](std::int32_t expert) {
        const sim::LayoutRequest request = with_groups(2, 2, 2, expert);
        const sim::MemoryNeed need = sim::layout_memory(model, request, rule).need;
        CHECK(need.states == 6 * need.weights);
        CHECK(need.gradients == need.weights);
        return need.weights;
    };
    CHECK(held(1) - held(2) == 2 * bytes(2 * 4 * one));
    CHECK(held(2) - held(4) == 2 * bytes(2 * 2 * one));
}

// Every exchange on an idle network, and gradients after the backward pass, one set beside another.
TEST_CASE("experts: a step with tensor, context and expert groups is the sum of its parts",
          "[experts]") {
    const sim::Topology topology = sim::build_cluster("p3.8xlarge", 2);
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    struct Groups {
        std::int32_t tensor, context, data, expert;
        std::vector<std::int32_t> ranks;  // of the first expert group of tensor rank 0
        bool whole = false;
    };
    for (const Groups& groups :
         {Groups{2, 1, 4, 2, {0, 2}}, Groups{2, 1, 4, 4, {0, 2, 4, 6}}, Groups{1, 4, 2, 2, {0, 1}},
          Groups{1, 2, 4, 4, {0, 1, 2, 3}}, Groups{2, 2, 2, 4, {0, 2, 4, 6}},
          Groups{2, 1, 4, 2, {0, 1}, true}, Groups{2, 2, 2, 2, {0, 1}, true},
          Groups{2, 1, 4, 8, {0, 1, 2, 3, 4, 5, 6, 7}, true}}) {
        CAPTURE(groups.tensor, groups.context, groups.data, groups.expert, groups.whole);
        sim::LayoutRequest request =
            with_groups(groups.tensor, groups.context, groups.data, groups.expert);
        request.whole_experts = request.sequence_parallel = groups.whole;
        sim::StepJob job;
        job.name = "job";
        job.workers = topology.workers();
        job.launch.overhead = {};
        job.steps = 1;
        job.collective = policies::Collective::ring;
        job.compute.assign(8, milliseconds(20));
        job.layout = sim::make_layout(model, request, "test");
        for (sim::StageWork& stage : job.layout->stages) {
            stage.buckets.clear();
            stage.expert_buckets.clear();
        }
        const sim::LayoutWork& work = *job.layout;
        std::vector<sim::DeviceId> members;
        for (const std::int32_t rank : groups.ranks)
            members.push_back(job.workers[static_cast<std::size_t>(rank)]);
        CHECK(work.expert_groups(job.workers, 0, 0).front() == members);
        const auto step_of = [&] {
            return sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
        };
        // All groups at once, each of them by itself on links of its own or together on shared
        // ones.
        const auto all_at_once = [&](Bytes size) {
            sim::ClusterNetwork network(topology);
            std::vector<sim::PlacedCollective> placed;
            for (std::int32_t t = 0; t < work.expert_tensor(); ++t) {
                for (const auto& group : work.expert_groups(job.workers, t, 0)) {
                    placed.push_back(sim::placed_exchange(
                        network, sim::ExchangeKind::token_all_to_all, job, group));
                }
            }
            for (const sim::PlacedCollective& one : placed) one.start(network, size, Instant{});
            Instant end;
            while (const auto run = network.runs().run_until(Instant::never())) end = run->at;
            return end.since_start();
        };
        const sim::StepRecord step = step_of();
        const TokensSent tokens = all_alike(work, sim::ExchangeKind::token_all_to_all);
        for (sim::StageWork& stage : job.layout->stages) {
            for (auto* blocks : {&stage.forward, &stage.backward}) {
                std::erase_if(*blocks, [](const sim::ModelBlock& block) {
                    return block.exchange == sim::ExchangeKind::token_all_to_all;
                });
            }
        }
        const sim::StepRecord without = step_of();
        const Duration more = (step.end - step.begin) - (without.end - without.begin);
        const Duration alone = all_at_once(tokens.each);
        CHECK(alone > Duration{});
        CHECK(to_seconds(more) ==
              Approx(to_seconds(tokens.count * alone)).epsilon(1e-3).margin(1e-7));
    }
}

TEST_CASE("experts: whole in a tensor group, each rank has tokens of its own", "[experts]") {
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    sim::LayoutRequest request = with_groups(2, 1, 4, 8);
    request.sequence_parallel = request.whole_experts = true;
    const sim::LayoutWork work = sim::make_layout(model, request, "test");
    const Bytes tokens = bytes(4 * 64 * 256 * 2);  // samples, tokens, values, 2 bytes
    const TokensSent sent = all_alike(work, sim::ExchangeKind::token_all_to_all);
    CHECK(sent.count == 8);
    CHECK(sent.each == tokens);  // half of them, twice
    // Attention's alone.
    CHECK(all_alike(work, sim::ExchangeKind::tensor_all_reduce).count == 4);
    // One expert of each of two blocks, uncut.
    const sim::LayerRange all{0, model.layers.size()};
    CHECK(sim::ModelPieces(model, request).parameters(all, sim::TensorSums::by_some) ==
          2 * (2 * 256 * 1024 + 1024 + 256));
    CHECK(work.stages.front().expert_buckets.empty());
    // Of the same arithmetic, each rank has as much as where both ranks cut half as many experts.
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_80gb", "test");
    const sim::KernelClock clock(gpu, sim::Precision::fp16, sim::known_kernel_rates(gpu, "test"),
                                 "test");
    sim::LayoutRequest cut = with_groups(2, 1, 4, 4);
    cut.sequence_parallel = true;
    const sim::LayerTimes whole_times = sim::layer_times(model, request, clock);
    const sim::LayerTimes cut_times = sim::layer_times(model, cut, clock);
    CHECK(whole_times.forward[2].device_s < cut_times.forward[2].device_s);  // larger products
    CHECK(whole_times.forward[2].launch_s < cut_times.forward[2].launch_s);  // one and not two
    request.sequence_parallel = false;
    CHECK_THROWS_WITH(
        sim::make_layout(model, request, "here"),
        "here: \"expert_tensor\" below tensor is for models with experts and with "
        "\"sequence_parallel\": true, which gives each tensor rank tokens of its own");
}

TEST_CASE("experts: replicas divide what they have of them", "[experts][divided]") {
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    const std::int64_t two = 2 * 2 * (2 * 256 * 1024 + 1024 + 256);  // of each of two blocks
    const std::int64_t rest = model.parameters() - 4 * two;
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    const auto part = [](std::int64_t whole, std::int64_t ranks) {
        return (whole + ranks - 1) / ranks;
    };
    const auto of = [](std::int64_t count) { return static_cast<double>(count); };
    sim::LayoutRequest request = on_replicas(8, 4);  // so each expert is on two ranks
    for (const sim::Shard shard :
         {sim::Shard::optimiser, sim::Shard::gradients, sim::Shard::parameters}) {
        request.shard = shard;
        const sim::LayoutWork work = sim::make_layout(model, request, "test");
        const sim::StageWork& stage = work.stages.front();
        const auto scattered = [](const std::vector<sim::GradientBucket>& buckets) {
            Bytes sum;
            for (const sim::GradientBucket& bucket : buckets) sum += bucket.legs.at(0).bytes;
            return sum / bytes(1);
        };
        CHECK(scattered(stage.buckets) == Approx(2 * of(rest) / 8).epsilon(1e-4));
        CHECK(scattered(stage.expert_buckets) == Approx(of(two)).epsilon(1e-4));
        sim::DividedPart gathered;
        const auto add = [&](const sim::DividedPart& one) {
            gathered.of_all += one.of_all;
            gathered.of_experts += one.of_experts;
        };
        for (const sim::ModelBlock& block : stage.forward) add(block.gathered);
        for (const sim::ModelBlock& block : stage.backward) add(block.gathered);
        for (const sim::DividedPart& one : work.updated_parts) add(one);
        const int times = shard == sim::Shard::parameters ? 2 : 1;
        CHECK(gathered.of_all / bytes(1) == Approx(times * 2 * of(rest) / 8).epsilon(1e-4));
        CHECK(gathered.of_experts / bytes(1) == Approx(times * of(two)).epsilon(1e-4));
        CHECK(work.update_shares.at(0) * static_cast<double>(model.parameters()) ==
              Approx(of(rest) / 8 + of(two) / 2));
        const sim::MemoryNeed need = sim::layout_memory(model, request, rule).need;
        CHECK(need.states == 12 * bytes(part(rest, 8) + part(two, 2)));
        if (shard == sim::Shard::optimiser) CHECK(need.gradients == 2 * bytes(rest + two));
    }
    // Who alone has an expert has nothing to divide.
    request.expert = 8;
    const sim::LayoutWork alone = sim::make_layout(model, request, "test");
    CHECK(alone.stages.front().expert_buckets.empty());
    CHECK(alone.stages.front().forward[0].gathered.of_experts == Bytes{});
}

// On an idle network: gathers of both sets before each unit, reduce-scatters after the pass.
TEST_CASE("experts: a step of divided parameters waits for both sets", "[experts][divided]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 8);
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.steps = 1;
    job.collective = policies::Collective::ring;
    job.compute.assign(8, milliseconds(1));
    sim::LayoutRequest request = on_replicas(8, 2);
    request.shard = sim::Shard::parameters;
    request.prefetch = 0;
    job.layout = sim::make_layout(model, request, "test");
    for (sim::StageWork& stage : job.layout->stages) {
        stage.buckets.clear();
        stage.expert_buckets.clear();
    }
    const auto step_of = [&] {
        return sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
    };
    const sim::StepRecord step = step_of();
    CHECK(step.parts.total() == step.end - step.begin);
    // Without prefetch, units wait one after another for the longer of their two gathers.
    Duration waited;
    const auto time_of = [&](const std::vector<sim::DeviceId>& group, Bytes size) {
        sim::ClusterNetwork network(topology);
        const auto placed = sim::placed_parts(network, sim::ExchangeKind::all_gather, job, group);
        placed.start(network, size, Instant{});
        return network.runs().run_until(Instant::never())->at.since_start();
    };
    const auto add = [&](const std::vector<sim::ModelBlock>& blocks) {
        for (const sim::ModelBlock& block : blocks) {
            if (block.gathered.is_empty()) continue;
            // Both at once over one NIC: each has a share, so the sum of what goes through it.
            const Duration all = time_of(job.workers, block.gathered.of_all);
            const Duration own =
                block.gathered.of_experts > Bytes{}
                    ? time_of(job.layout->experts_adders(job.workers, 0, 0).front(),
                              block.gathered.of_experts)
                    : Duration{};
            waited += all + own;
        }
    };
    add(job.layout->stages.front().forward);
    add(job.layout->stages.front().backward);
    CHECK(to_seconds(step.parts.exchange) == Approx(to_seconds(waited)).epsilon(0.1));
}

TEST_CASE("experts: gradients are added up by those who have the same ones", "[experts]") {
    const sim::Topology topology = sim::build_cluster("p3.8xlarge", 2);
    const sim::ModelProfile model = sim::gpt2("eight", small_shape(8));
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.launch.overhead = {};
    job.steps = 1;
    job.collective = policies::Collective::ring;
    job.compute.assign(8, milliseconds(20));
    sim::LayoutRequest request = with_groups(1, 1, 8, 2);
    request.buckets.kind = sim::BucketKind::one;
    job.layout = sim::make_layout(model, request, "test");
    sim::StageWork& stage = job.layout->stages.front();
    REQUIRE(stage.expert_buckets.size() == 1);
    const std::int64_t four = 4 * (2 * 256 * 1024 + 1024 + 256);
    CHECK(stage.expert_buckets.front().bytes == 2 * bytes(2 * four));  // of two blocks
    const std::vector<std::vector<sim::DeviceId>> same =
        job.layout->experts_adders(job.workers, 0, 0);
    REQUIRE(same.size() == 2);
    const auto& all = job.workers;
    CHECK(same[0] == std::vector{all[0], all[2], all[4], all[6]});
    CHECK(same[1] == std::vector{all[1], all[3], all[5], all[7]});
    const auto sending = [&] {
        return sim::run_steps(topology, std::span(&job, 1), {}, {1, 0})
            .front()
            .steps.front()
            .parts.sending;
    };
    stage.buckets.clear();
    CHECK(stage.expert_buckets.front().ready <
          1);  // what precedes the first experts is still to come
    stage.expert_buckets.front().ready = 1;
    const Duration played = sending();
    // Both fours at once, over the same two NICs.
    sim::ClusterNetwork network(topology);
    std::vector<sim::PlacedCollective> fours;
    for (const auto& four_ranks : same) {
        const std::int32_t each = sim::workers_per_machine(topology, four_ranks);
        fours.emplace_back(network, policies::Collective::ring, four_ranks, each, "test");
    }
    for (const sim::PlacedCollective& one : fours) {
        one.start(network, stage.expert_buckets.front().bytes, Instant{});
    }
    Instant end;
    while (const auto run = network.runs().run_until(Instant::never())) end = run->at;
    CHECK(std::abs((played - end.since_start()).raw()) <= 1);  // rounded apart from zero
    stage.expert_buckets.clear();
    CHECK(sending() == Duration{});
}

}  // namespace ukemi
