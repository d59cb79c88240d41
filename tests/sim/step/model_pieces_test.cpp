// model_pieces_test.cpp — which layers are fully connected.
#include <catch2/catch.hpp>

#include "sim/cluster/layer_stack.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi {
namespace {

sim::LayoutRequest request_of(policies::Layout degrees, std::int64_t batch = 1) {
    sim::LayoutRequest request;
    request.degrees = degrees;
    request.batch = batch;
    request.value_bytes = 2;
    return request;
}

}  // namespace

TEST_CASE("model pieces: fully connected layers without a bias are split, too", "[model_pieces]") {
    sim::LayerStack net("mine", "sample", {4096, 1, 1});
    net.dense("square", 4096, false);
    net.dense("narrow", 64, false);
    const sim::ModelProfile model = net.finished();
    CHECK(sim::dense_shape(model.layers[0]).inputs == 4096);
    CHECK(sim::dense_shape(model.layers[1]).inputs == 4096);
    CHECK(sim::dense_shape(model.layers[1]).outputs == 64);
    sim::LayoutRequest request = request_of({8, 1, 1}, 32);
    request.value_bytes = 4;
    request.split_dense = true;
    const sim::LayoutWork work = sim::make_layout(model, request, "test");
    CHECK(work.stages[0].buckets.empty());
    Bytes gathered;
    for (const sim::ModelBlock& block : work.stages[0].forward) {
        if (block.exchange == sim::ExchangeKind::all_gather) gathered += block.bytes;
    }
    CHECK(gathered == bytes(4 * 32 * (4096 + 4096)));
    const sim::MemoryRule rule =
        sim::MemoryRule::of(sim::Precision::fp32, sim::OptimiserKind::momentum);
    CHECK(sim::layout_memory(model, request, rule).need.parameters() ==
          12 * bytes((4096 * 4096 + 4096 * 64) / 8));
}

}  // namespace ukemi
