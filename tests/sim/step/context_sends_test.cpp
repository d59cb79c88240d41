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
sim::ModelProfile sent_transformer(std::int64_t vocabulary = 32000) {
    sim::TransformerShape shape;
    shape.layers = 2;
    shape.hidden = 1024;
    shape.heads = 16;
    shape.kv_heads = 4;
    shape.vocabulary = vocabulary;
    shape.sequence_length = 4096;
    shape.positions = 4096;
    shape.flash = true;
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
            check_sent(forward.with, kind, heads_bytes(16 / tensor, 2));
            const auto backward =
                sends(ContextExchange::all_to_all, 2, tensor, ContextPass::backward);
            check_sent(backward.before, kind, heads_bytes(16 / tensor, 2));
            check_sent(backward.with, kind, heads_bytes((16 + 2 * 4) / tensor, 2));
        }
        // Eight ranks have four heads of keys twice.
        const auto copied = sends(ContextExchange::all_to_all, 8, 1, ContextPass::forward);
        check_sent(copied.before, kind, heads_bytes(16 + 2 * 8, 8));
        const auto again = sends(ContextExchange::all_to_all, 2, 1, ContextPass::scores_again);
        CHECK_FALSE(again.before);
        CHECK_FALSE(again.with);
    }
    SECTION("gather: keys and values, then their gradients") {
        const auto forward = sends(ContextExchange::gather, 4, 2, ContextPass::forward);
        check_sent(forward.before, ExchangeKind::context_gather, heads_bytes(2 * 2, 4));
        CHECK_FALSE(forward.with);
        const auto backward = sends(ContextExchange::gather, 4, 2, ContextPass::backward);
        check_sent(backward.before, ExchangeKind::context_gather, heads_bytes(2 * 2, 4));
        check_sent(backward.with, ExchangeKind::context_scatter, heads_bytes(2 * 2, 4));
        CHECK_FALSE(sends(ContextExchange::gather, 4, 2, ContextPass::backward_again).before);
    }
    SECTION("of one rank nothing") {
        for (const auto exchange :
             {ContextExchange::ring, ContextExchange::all_to_all, ContextExchange::gather}) {
            const auto none = sends(exchange, 1, 1, ContextPass::forward);
            CHECK_FALSE(none.before);
            CHECK_FALSE(none.with);
        }
    }
}

TEST_CASE("context sends: a step takes its computing and every exchange, one after the other",
          "[context]") {
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    const sim::ModelProfile model = sent_transformer();
    for (const bool again : {false, true}) {
        for (const auto exchange : {ContextExchange::all_to_all, ContextExchange::gather}) {
            CAPTURE(again, exchange);
            sim::StepJob job;
            job.name = "job";
            job.workers = topology.workers();
            job.launch.overhead = {};
            job.steps = 1;
            // Of one GPU; a quarter of it on each of four, and a forward pass more.
            job.compute.assign(job.workers.size(), milliseconds(1200));
            sim::LayoutRequest request = sends_request(exchange, 4);
            request.recompute = again;
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
                sent = (again ? 3 : 2) * 2 * both;  // passes, of two blocks
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
    CHECK(kept(ContextExchange::all_to_all) == kept(ContextExchange::ring));
    // Of the three other ranks, and three samples.
    CHECK(kept(ContextExchange::gather) - kept(ContextExchange::ring) ==
          bytes(3 * heads_bytes(8, 4)));
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
}

}  // namespace ukemi
