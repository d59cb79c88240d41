// divided_memory_test.cpp — each more that replicas divide needs no more memory than the one
// before.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"
#include "tests/sim/step/small_transformer.hpp"

namespace ukemi {
namespace {

constexpr std::array shards = {sim::Shard::none, sim::Shard::optimiser, sim::Shard::gradients,
                               sim::Shard::parameters};

sim::ModelProfile model_of(std::int64_t layers, std::int64_t experts) {
    return sim::gpt2("small", test::small_transformer(layers, experts));
}

// What is brought together at once, and what is there at most before it is no more than the whole.
struct Gathered {
    std::int64_t at_once = 0;
    std::int64_t most = 0;
};
Gathered gathered_of(const sim::ModelProfile& model, const sim::LayoutRequest& request) {
    const sim::ModelPieces pieces(model, request);
    Gathered gathered;
    std::vector<std::int64_t> units;
    for (const sim::LayerRange& unit : sim::layer_units(model, {0, model.layers.size()})) {
        std::int64_t here = 0;
        const auto count = [&](sim::TensorSums sums, std::int64_t ranks) {
            const std::int64_t held = pieces.parameters(unit, sums);
            if (ranks > 1) here += held;
            gathered.most += held - held / ranks - 1;  // parts are rounded up
        };
        count(sim::TensorSums::by_all, request.holders());
        count(sim::TensorSums::by_some, request.expert_adders());
        units.push_back(here);
    }
    for (std::size_t first = 0; first < units.size(); ++first) {
        std::int64_t sum = 0;
        const auto ahead = static_cast<std::size_t>(request.prefetch);
        for (std::size_t i = first; i < std::min(units.size(), first + ahead + 1); ++i) {
            sum += units[i];
        }
        gathered.at_once = std::max(gathered.at_once, sum);
    }
    return gathered;
}

bool can_be(const sim::ModelProfile& model, const sim::LayoutRequest& request) {
    try {
        sim::make_layout(model, request, "test");
    } catch (const InputError&) {
        return false;
    }
    return true;
}

}  // namespace

TEST_CASE("divided memory: no stage needs more than the one before", "[divided][experts]") {
    const sim::MemoryRule rule = sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::sgd);
    int seen = 0;
    int alone = 0;  // experts that one rank holds
    for (const std::int64_t layers : {1, 2, 12}) {
        for (const std::int32_t data : {1, 2, 4, 8}) {
            for (const std::int32_t expert : {1, 2, 4, 8}) {
                for (const std::int32_t tensor : {1, 2}) {
                    for (const bool whole : {false, true}) {
                        for (const std::int32_t prefetch : {0, 1, 3}) {
                            const sim::ModelProfile model = model_of(layers, 8);
                            sim::LayoutRequest request;
                            request.degrees.data = data;
                            request.degrees.tensor = tensor;
                            request.expert = expert;
                            request.whole_experts = whole && tensor > 1;
                            request.prefetch = prefetch;
                            request.value_bytes = 2;
                            request.shard = sim::Shard::parameters;
                            if (!can_be(model, request)) continue;
                            const Gathered gathered = gathered_of(model, request);
                            if (gathered.at_once > gathered.most) continue;
                            Bytes last = Bytes::max();
                            for (const sim::Shard shard : shards) {
                                request.shard = shard;
                                const Bytes need =
                                    sim::layout_memory(model, request, rule).need.total();
                                CAPTURE(layers, data, expert, tensor, whole, prefetch);
                                CHECK(need <= last);
                                last = need;
                            }
                            ++seen;
                            if (expert > 1 && request.expert_adders() == 1) ++alone;
                        }
                    }
                }
            }
        }
    }
    CHECK(seen > 100);
    CHECK(alone > 5);
}

TEST_CASE("divided memory: experts that one rank holds are there once", "[divided][experts]") {
    const sim::ModelProfile model = model_of(1, 8);
    sim::LayoutRequest request;
    request.degrees.data = 4;
    request.expert = 4;
    request.shard = sim::Shard::parameters;
    request.prefetch = 2;  // all units
    const sim::ModelPieces pieces(model, request);
    const sim::LayerRange all{0, model.layers.size()};
    const std::int64_t experts = pieces.parameters(all, sim::TensorSums::by_some);
    const std::int64_t rest = pieces.parameters(all, sim::TensorSums::by_all);
    const sim::MemoryRule rule = sim::MemoryRule::of(sim::Precision::fp16, sim::OptimiserKind::sgd);
    const sim::MemoryNeed need = sim::layout_memory(model, request, rule).need;
    CHECK(need.weights == 2 * bytes(rest / 4 + experts + rest));
    CHECK(need.gradients < 2 * bytes(rest / 4 + experts + rest));
    CHECK(need.gradients > 2 * bytes(rest / 4 + experts));
}

}  // namespace ukemi
