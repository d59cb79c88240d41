// model_pieces_test.cpp — which layers are fully connected, and who holds what makes the logits.
#include <catch2/catch.hpp>

#include "sim/cluster/layer_stack.hpp"
#include "sim/step/codec_plan.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"
#include "tests/sim/step/small_transformer.hpp"

namespace ukemi {
namespace {}  // namespace

TEST_CASE("model pieces: fully connected layers without a bias are split, too", "[model_pieces]") {
    sim::LayerStack net("mine", "sample", {4096, 1, 1});
    net.dense("square", 4096, false);
    net.dense("narrow", 64, false);
    const sim::ModelProfile model = net.finished();
    CHECK(sim::dense_shape(model.layers[0]).inputs == 4096);
    CHECK(sim::dense_shape(model.layers[1]).inputs == 4096);
    CHECK(sim::dense_shape(model.layers[1]).outputs == 64);
    sim::LayoutRequest request = test::request_of({8, 1, 1}, 32);
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

TEST_CASE("model pieces: embeddings and logits count as blocks where that makes stages equal",
          "[model_pieces]") {
    // Llama 3.1 with 405 billion parameters: 126 blocks, 8 stages of 8 chunks.
    CHECK(sim::stage_blocks(126, 64).each == 2);
    CHECK(sim::stage_blocks(126, 64).ends_count);
    CHECK(sim::stage_blocks(126, 63).each == 2);
    CHECK(!sim::stage_blocks(126, 63).ends_count);
    CHECK(sim::stage_blocks(126, 128).each == 0);  // nothing would be left of the first stage
    CHECK(sim::stage_blocks(125, 64).each == 0);
    const sim::ModelProfile model = sim::gpt2("uneven", test::small_transformer(10, 1));
    sim::LayoutRequest request = test::request_of({1, 4, 1});
    const auto blocks_of = [&](const sim::LayerRange& range, bool again) {
        std::int64_t count = 0;
        for (std::size_t i = range.begin; i < range.end; ++i) {
            if (!sim::is_attention(model.layers[i])) continue;
            if (!again || sim::is_computed_again(model, range, i, request)) ++count;
        }
        return count;
    };
    const std::vector<sim::LayerRange> ranges = sim::stage_ranges(model, 4);
    REQUIRE(ranges.size() == 4);
    request.recompute = true;
    request.recompute_by_stage = {2, 1, 3, 0};
    const std::vector<std::int64_t> blocks = {2, 3, 3, 2};
    for (std::size_t stage = 0; stage < ranges.size(); ++stage) {
        CAPTURE(stage);
        CHECK(blocks_of(ranges[stage], false) == blocks[stage]);
        CHECK(blocks_of(ranges[stage], true) == request.recompute_by_stage[stage]);
        CHECK(ranges[stage].begin == (stage == 0 ? 0 : ranges[stage - 1].end));
    }
    CHECK(ranges.back().end == model.layers.size());
    request.recompute_by_stage = {3, 1, 3, 0};  // the first stage has two
    CHECK_THROWS_WITH(sim::make_layout(model, request, "test"),
                      Catch::Contains("a stage has 2 blocks of uneven: 3 of them cannot be"));
    request.recompute_by_stage = {2, 1, 3, 0};
    const sim::LayoutWork work = sim::make_layout(model, request, "test");
    double shares = 0;
    for (const sim::StageWork& stage : work.stages) {
        for (const sim::ModelBlock& block : stage.forward) shares += block.share;
    }
    CHECK(shares == Approx(1.0 / 3).epsilon(1e-6));
}

TEST_CASE("model pieces: an output matrix of its own is the last stage's alone", "[model_pieces]") {
    sim::TransformerShape shape = test::small_transformer(4, 1);
    const sim::ModelProfile tied = sim::gpt2("tied", shape);
    shape.tied_embedding = false;
    const sim::ModelProfile own = sim::gpt2("own", shape);
    const std::int64_t matrix = shape.vocabulary * shape.hidden;
    CHECK(own.parameters() == tied.parameters() + matrix);
    CHECK(own.forward_flops() == tied.forward_flops());
    CHECK(own.tensors.back().name == "logits.weight");
    CHECK(sim::tensor_shapes(own).back().columns == shape.hidden);
    const auto held = [](const sim::ModelProfile& model, const sim::LayoutRequest& request) {
        const sim::ModelPieces pieces(model, request);
        std::vector<std::int64_t> parameters;
        for (const sim::LayerRange& range : sim::stage_ranges(model, request.degrees.pipeline)) {
            parameters.push_back(pieces.parameters(range));
        }
        return parameters;
    };
    // In a pipeline both last stages have the matrix; the first stage has none of it. Halves go to
    // a tensor group of two.
    CHECK(held(own, test::request_of({1, 2, 1})) == held(tied, test::request_of({1, 2, 1})));
    CHECK(held(own, test::request_of({1, 2, 2})) == held(tied, test::request_of({1, 2, 2})));
    CHECK(held(own, test::request_of({1, 1, 2}))[0] ==
          held(tied, test::request_of({1, 1, 2}))[0] + matrix / 2);
    // Its gradient is ready first.
    const sim::LayoutWork work = sim::make_layout(own, test::request_of({2, 1, 1}), "test");
    Bytes sent;
    for (const sim::GradientBucket& bucket : work.stages[0].buckets) sent += bucket.bytes;
    CHECK(sent == own.gradient_bytes(2));
}

}  // namespace ukemi
