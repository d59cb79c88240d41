// context_sends_test.cpp — three ways for attention to get what other ranks have of the tokens.
#include "sim/step/context_sends.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/models/architectures.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/layout_space.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

using sim::ContextExchange;
using sim::ContextPass;
using sim::ExchangeKind;

// 2 blocks, 16 heads of 64, 4 of keys and values, 4096 tokens.
sim::ModelProfile sent_transformer(std::int64_t vocabulary = 32000, bool flash = true) {
    sim::TransformerShape shape;
    shape.layers = 2;
    shape.hidden = 1024;
    shape.heads = 16;
    shape.kv_heads = 4;
    shape.vocabulary = vocabulary;
    shape.sequence_length = 4096;
    shape.positions = 4096;
    shape.flash = flash;
    return sim::gpt2("sent", shape);
}

sim::LayoutRequest sends_request(ContextExchange exchange, std::int32_t context,
                                 std::int32_t tensor = 1) {
    sim::LayoutRequest request;
    request.degrees = {1, 1, tensor};
    request.context = context;
    request.context_exchange = exchange;
    request.batch = 3;
    request.value_bytes = 2;
    return request;
}

// Bytes of so many heads of a rank's tokens, by hand.
std::int64_t heads_bytes(std::int64_t heads, std::int64_t context) {
    return std::int64_t{2} * 3 * (4096 / context) * heads * 64;
}

void check_sent(const std::optional<sim::ContextSends::Sent>& sent, ExchangeKind kind,
                std::int64_t expected) {
    REQUIRE(sent);
    CHECK(sent->kind == kind);
    CHECK(sent->bytes.raw() == expected);
}

}  // namespace

TEST_CASE("context sends: bytes of every way, forward and backward, by hand", "[context]") {
    const sim::TransformerShape shape = *sent_transformer().transformer;
    const auto sends = [&](ContextExchange exchange, std::int32_t context, std::int32_t tensor,
                           ContextPass pass) {
        return context_sends(shape, sends_request(exchange, context, tensor), pass);
    };
    SECTION("all to all: queries, keys and values there, sums back") {
        const auto kind = ExchangeKind::context_all_to_all;
        for (const std::int32_t tensor : {1, 2}) {
            const auto forward =
                sends(ContextExchange::all_to_all, 2, tensor, ContextPass::forward);
            check_sent(forward.before, kind, heads_bytes((16 + 2 * 4) / tensor, 2));
            check_sent(forward.of_scores, kind, heads_bytes(16 / tensor, 2));
            const auto backward =
                sends(ContextExchange::all_to_all, 2, tensor, ContextPass::backward);
            check_sent(backward.before, kind, heads_bytes(16 / tensor, 2));
            check_sent(backward.of_scores, kind, heads_bytes((16 + 2 * 4) / tensor, 2));
        }
        // Eight ranks have four heads of keys twice.
        const auto copied = sends(ContextExchange::all_to_all, 8, 1, ContextPass::forward);
        check_sent(copied.before, kind, heads_bytes(16 + 2 * 8, 8));
        const auto again = sends(ContextExchange::all_to_all, 2, 1, ContextPass::scores_again);
        CHECK_FALSE(again.before);
        CHECK_FALSE(again.of_scores);
    }
    SECTION("gather: keys and values, then their gradients") {
        const auto forward = sends(ContextExchange::gather, 4, 2, ContextPass::forward);
        check_sent(forward.before, ExchangeKind::context_gather, heads_bytes(2 * 2, 4));
        CHECK_FALSE(forward.of_scores);
        const auto backward = sends(ContextExchange::gather, 4, 2, ContextPass::backward);
        check_sent(backward.before, ExchangeKind::context_gather, heads_bytes(2 * 2, 4));
        check_sent(backward.of_scores, ExchangeKind::context_scatter, heads_bytes(2 * 2, 4));
        CHECK_FALSE(sends(ContextExchange::gather, 4, 2, ContextPass::backward_after_again).before);
    }
    SECTION("of one rank nothing") {
        for (const auto exchange :
             {ContextExchange::ring, ContextExchange::all_to_all, ContextExchange::gather}) {
            const auto none = sends(exchange, 1, 1, ContextPass::forward);
            CHECK_FALSE(none.before);
            CHECK_FALSE(none.of_scores);
        }
    }
}

TEST_CASE("context sends: a step takes its computing and every exchange, one after the other",
          "[context]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    // Whether blocks are computed again: none, all, the first of both; or scores.
    const auto again = GENERATE(as<std::string>(), "none", "all", "first", "scores");
    {
        for (const auto exchange : {ContextExchange::all_to_all, ContextExchange::gather}) {
            CAPTURE(again, exchange);
            const sim::ModelProfile model = sent_transformer(32000, again != "scores");
            sim::StepJob job;
            job.name = "job";
            job.workers = topology.workers();
            job.launch.overhead = {};
            job.steps = 1;
            // Of one GPU; a quarter of it on each of four, and a forward pass more.
            job.compute.assign(job.workers.size(), milliseconds(1200));
            sim::LayoutRequest request = sends_request(exchange, 4);
            request.recompute = again == "all" || again == "first";
            request.recompute_blocks = again == "first" ? 1 : 0;
            request.recompute_scores = again == "scores";
            job.layout = sim::make_layout(model, request, "test");
            for (sim::StageWork& stage : job.layout->stages) stage.buckets.clear();
            const auto alone = [&](ExchangeKind kind, std::int64_t size) {
                sim::ClusterNetwork network(topology);
                const auto placed = sim::placed_exchange(network, kind, job, job.workers);
                placed.start(network, bytes(size), Instant{});
                return network.runs().run_until(Instant::never())->at.since_start();
            };
            Duration sent;
            if (exchange == ContextExchange::all_to_all) {
                const auto kind = ExchangeKind::context_all_to_all;
                const Duration both =
                    alone(kind, heads_bytes(24, 4)) + alone(kind, heads_bytes(16, 4));
                sent = (again == "all" ? 6 : again == "first" ? 5 : 4) * both;  // two blocks
            } else {
                // Backward gathered again, by the pass itself or by the one before it.
                sent = 2 * (2 * alone(ExchangeKind::context_gather, heads_bytes(8, 4)) +
                            alone(ExchangeKind::context_scatter, heads_bytes(8, 4)));
            }
            const sim::StepRecord step =
                sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.front();
            CHECK(step.parts.total() == step.end - step.begin);
            CHECK(std::abs((step.parts.exchange - sent).raw()) <= 100);
            CHECK(std::abs((step.end - step.begin - step.parts.compute - sent).raw()) <= 100);
        }
    }
}

TEST_CASE("context sends: gathered keys and values are there while a block is computed",
          "[context]") {
    const sim::ModelProfile model = sent_transformer(64);  // so that the loss needs less
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::adam);
    const auto kept = [&](ContextExchange exchange) {
        sim::LayoutRequest request = sends_request(exchange, 4);
        request.recompute = true;
        return sim::layout_memory(model, request, rule).need.kept;
    };
    // What the heads of two blocks of three samples give, once more by tokens: of the one that is
    // computed again alone.
    CHECK(kept(ContextExchange::all_to_all) - kept(ContextExchange::ring) ==
          bytes(heads_bytes(16, 4)));
    // Of the three other ranks, and three samples; backward with their gradients.
    CHECK(kept(ContextExchange::gather) - kept(ContextExchange::ring) ==
          bytes(2 * 3 * heads_bytes(8, 4)));
    // Whatever the schedule: its inputs' passes have them, too.
    const auto kept_by = [&](sim::PipelineKind schedule, ContextExchange exchange) {
        sim::LayoutRequest request = sends_request(exchange, 4);
        request.degrees.pipeline = 2;
        request.micro_batches = 4;
        request.schedule = schedule;
        return sim::layout_memory(model, request, rule).need.kept;
    };
    for (const auto schedule :
         {sim::PipelineKind::gpipe, sim::PipelineKind::one_forward_one_backward,
          sim::PipelineKind::zero_bubble}) {
        CAPTURE(schedule);
        CHECK(kept_by(schedule, ContextExchange::gather) >
              kept_by(schedule, ContextExchange::ring));
        CHECK(kept_by(schedule, ContextExchange::all_to_all) >
              kept_by(schedule, ContextExchange::ring));
    }
}

TEST_CASE("context sends: heads and tokens that are not divided are refused, and passed over",
          "[context]") {
    const sim::ModelProfile model = sent_transformer();
    CHECK_THROWS_WITH(
        sim::make_layout(model, sends_request(ContextExchange::all_to_all, 16, 2), "here"),
        "here: sent has 16 heads: \"context_exchange\": \"all_to_all\" divides them, and expected "
        "a "
        "multiple of tensor 2 x context 16");
    CHECK_THROWS_WITH(sim::make_layout(model, sends_request(ContextExchange::gather, 4096), "here"),
                      Catch::Contains("no multiple of two parts for each of context 4096"));
    sim::LayoutRequest like = sends_request(ContextExchange::all_to_all, 1);
    like.batch = 32;
    const auto layouts = sim::all_layouts(model, like, 32, {.context = true});
    std::int64_t divided = 0;
    for (const sim::LayoutRequest& one : layouts) {
        CHECK(one.context_exchange == ContextExchange::all_to_all);
        CHECK(16 % (one.context * one.degrees.tensor) == 0);
        divided += one.context > 1 ? 1 : 0;
    }
    CHECK(divided > 0);
    // A degree that was not searched for is refused by its name.
    like.context = 3;
    for (const sim::LayoutRequest& one : sim::all_layouts(model, like, 24)) {
        CHECK_THROWS_WITH(sim::make_layout(model, one, "here"), Catch::Contains("context 3"));
    }
    CHECK_FALSE(sim::all_layouts(model, like, 24).empty());
}

}  // namespace ukemi
