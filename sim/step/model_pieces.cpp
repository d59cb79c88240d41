// model_pieces.cpp — reads layers by their names and numbers, and divides their tensors.
#include "sim/step/model_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <system_error>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

std::int64_t divided(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

// What every rank of a tensor group has: norms, positions, and the biases that are added after an
// all-reduce.
bool is_replicated(std::string_view tensor) {
    return tensor.find("norm.") != std::string_view::npos || tensor.ends_with("output.bias") ||
           tensor.ends_with("outer.bias") || tensor.ends_with(".position") ||
           tensor.ends_with(".segment") || tensor.ends_with("router.weight") ||
           tensor.starts_with("pooler.");
}

// The number of the expert that a tensor belongs to.
std::optional<std::int64_t> expert_of(std::string_view tensor) {
    constexpr std::string_view mark = ".feed_forward.expert";
    const std::size_t at = tensor.find(mark);
    if (at == std::string_view::npos) return {};
    std::int64_t number = 0;
    const char* end = tensor.data() + tensor.size();
    const auto read = std::from_chars(tensor.data() + at + mark.size(), end, number);
    INVARIANT(read.ec == std::errc());
    return number;
}

}  // namespace

bool is_attention(const LayerCost& layer) { return layer.name.ends_with(".attention"); }
bool is_feed_forward(const LayerCost& layer) { return layer.name.ends_with(".feed_forward"); }

std::int64_t norm_channels(const LayerCost& layer) {
    // LayerStack's: two parameters a channel, no multiply-adds, and it moves what it keeps.
    const bool is_norm = layer.forward_flops == 0 && layer.parameters > 0 && layer.values_moved > 0;
    return is_norm ? layer.parameters / 2 : 0;
}

DenseShape dense_shape(const LayerCost& layer) {
    // Each weight is used once a sample: a product of one row, which reads all inputs and writes
    // all outputs and nothing else. With a bias or without.
    const std::int64_t weights = layer.depth * layer.columns;
    const bool has_weights =
        layer.parameters == weights || layer.parameters == weights + layer.columns;
    if (layer.rows != 1 || !has_weights || layer.values_moved != layer.depth + layer.columns) {
        return {};
    }
    return {layer.depth, layer.columns};
}

StageBlocks stage_blocks(std::int64_t blocks, std::int64_t stages) {
    if (blocks % stages == 0) return {blocks / stages};
    const bool ends_count = (blocks + 2) % stages == 0 && blocks + 2 > stages;
    return ends_count ? StageBlocks{(blocks + 2) / stages, true} : StageBlocks{};
}

void check_stages(const ModelProfile& model, const LayoutRequest& request, std::string_view where) {
    const std::int64_t stages = std::int64_t{request.degrees.pipeline} * request.chunks;
    const std::int64_t layers = model.transformer->layers;
    const StageBlocks blocks = stage_blocks(layers, stages);
    if (blocks.each == 0) {
        throw InputError(where, "",
                         fmt::format("{} has {} blocks: neither they nor two more, embedding and "
                                     "loss, give {} stages as many each",
                                     model.name, layers, stages));
    }
    const auto expect_blocks = [&](std::int64_t there, std::int64_t again) {
        if (again <= there) return;
        throw InputError(where, "",
                         fmt::format("a stage has {} blocks of {}: {} of them cannot be computed "
                                     "again",
                                     there, model.name, again));
    };
    expect_blocks(blocks.each, request.recompute_blocks);
    for (std::size_t stage = 0; stage < request.recompute_by_stage.size(); ++stage) {
        expect_blocks(blocks.of(static_cast<std::int64_t>(stage), stages),
                      request.recompute_by_stage[stage]);
    }
}

std::vector<LayerRange> stage_ranges(const ModelProfile& model, std::int32_t stages) {
    if (stages == 1) return {{0, model.layers.size()}};
    INVARIANT(model.transformer);
    const StageBlocks cut = stage_blocks(model.transformer->layers, stages);
    INVARIANT(cut.each > 0);
    const auto first = static_cast<std::size_t>(std::ranges::find_if(model.layers, is_attention) -
                                                model.layers.begin());
    const auto blocks = static_cast<std::size_t>(cut.each);
    const std::size_t less = cut.ends_count ? 1 : 0;
    std::vector<LayerRange> ranges;
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(stages); ++stage) {
        const std::size_t before = stage == 0 ? 0 : blocks * stage - less;
        ranges.push_back({first + 2 * before, first + 2 * (blocks * (stage + 1) - less)});
    }
    ranges.front().begin = 0;
    ranges.back().end = model.layers.size();
    return ranges;
}

bool is_computed_again(const ModelProfile& model, const LayerRange& range, std::size_t layer,
                       const LayoutRequest& request) {
    if (!request.recompute) return false;
    const auto blocks = [&](std::size_t begin, std::size_t end) {
        return std::ranges::count_if(std::span(model.layers).subspan(begin, end - begin),
                                     is_attention);
    };
    std::int64_t most = request.recompute_blocks;
    if (!request.recompute_by_stage.empty()) {
        const auto stages = static_cast<std::int64_t>(request.recompute_by_stage.size());
        const StageBlocks cut = stage_blocks(model.transformer->layers, stages);
        const std::int64_t before = blocks(0, range.begin);
        const std::int64_t stage = (before + (before > 0 && cut.ends_count ? 1 : 0)) / cut.each;
        most = request.recompute_by_stage[static_cast<std::size_t>(stage)];
    } else if (most == 0) {
        return true;
    }
    return blocks(range.begin, layer + 1) <= most;
}

std::vector<LayerRange> layer_units(const ModelProfile& model, const LayerRange& range) {
    std::vector<LayerRange> units;
    const auto is_half = [](const LayerCost& layer) {
        return is_attention(layer) || is_feed_forward(layer);
    };
    for (std::size_t i = range.begin; i < range.end; ++i) {
        const LayerCost& layer = model.layers[i];
        const bool begins = !model.transformer || i == range.begin || is_attention(layer) ||
                            is_half(layer) != is_half(model.layers[i - 1]);
        if (begins) units.push_back({i, i});
        units.back().end = i + 1;
    }
    return units;
}

ModelPieces::ModelPieces(const ModelProfile& model, const LayoutRequest& request)
    : model_(model), request_(request) {
    std::size_t tensor = 0;
    for (const LayerCost& layer : model.layers) {
        first_tensors_.push_back(tensor);
        for (std::int64_t left = layer.parameters; left > 0; ++tensor) {
            left -= model.tensors[tensor].elements;
        }
    }
    first_tensors_.push_back(tensor);
    ties_ = request.degrees.pipeline > 1 && request.pipeline().copies() == 1 &&
            model.layers.back().name == "logits" && model.transformer->tied_embedding;
}

// Of a tensor that is cut into so many parts. Whole heads of keys and values stay together: ranks
// beyond their number have copies.
std::int64_t ModelPieces::held_of(const GradientTensor& whole, std::int64_t parts) const {
    if (parts == 1 || !model_.transformer ||
        whole.name.find(".query_key_value.") == std::string_view::npos) {
        return divided(whole.elements, parts);
    }
    const TransformerShape& shape = *model_.transformer;
    const std::int64_t inputs =
        whole.elements / (shape.queries() + 2 * shape.kv() * shape.head());  // 1 of a bias
    return inputs *
           (divided(shape.queries(), parts) + 2 * divided(shape.kv(), parts) * shape.head());
}

// Calls with every tensor of the range of which a worker holds something, its layer, how much that
// is, and who adds up its gradients. Of experts that are divided, a worker has the first ones.
template <class Visit>
void ModelPieces::visit(const LayerRange& range, const Visit& visit) const {
    const LayoutRequest& request = request_;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        const LayerCost& layer = model_.layers[i];
        const bool split_layer = request.split_dense && dense_shape(layer).inputs > 0;
        for (std::size_t tensor = first_tensors_[i]; tensor < first_tensors_[i + 1]; ++tensor) {
            const GradientTensor& whole = model_.tensors[tensor];
            TensorSums sums = split_layer ? TensorSums::by_nobody : TensorSums::by_all;
            bool whole_expert = false;
            if (request.has_expert_sets()) {
                const std::optional<std::int64_t> expert = expert_of(whole.name);
                const std::int64_t here = model_.transformer->experts / request.expert;
                if (expert && *expert >= here) continue;
                if (expert) sums = TensorSums::by_some;
                whole_expert = expert && request.whole_experts;
            }
            const std::int64_t parts = split_layer ? request.degrees.data
                                       : whole_expert || is_replicated(whole.name)
                                           ? 1
                                           : request.degrees.tensor;
            visit(layer, whole, held_of(whole, parts), sums);
        }
        if (!ties_ || i + 1 < model_.layers.size()) continue;
        visit(layer, model_.tensors.front(), words_held_twice(), TensorSums::by_all);
    }
}

std::int64_t ModelPieces::words_held_twice() const {
    return ties_ ? divided(model_.tensors.front().elements, request_.degrees.tensor) : 0;
}

ModelProfile ModelPieces::piece(const LayerRange& range, TensorSums sums) const {
    ModelProfile piece;
    piece.name = model_.name;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        piece.layers.push_back(model_.layers[i]);
        piece.layers.back().parameters = 0;
    }
    visit(range, [&](const LayerCost& layer, const GradientTensor& tensor, std::int64_t held,
                     TensorSums whose) {
        if (whose != sums) return;
        piece.tensors.push_back({tensor.name, held});
        const auto index = static_cast<std::size_t>(&layer - model_.layers.data()) - range.begin;
        piece.layers[index].parameters += held;
    });
    return piece;
}

std::int64_t ModelPieces::parameters(const LayerRange& range, std::optional<TensorSums> of) const {
    std::int64_t sum = 0;
    visit(range, [&](const LayerCost&, const GradientTensor&, std::int64_t held, TensorSums sums) {
        if (!of || *of == sums) sum += held;
    });
    return sum;
}

}  // namespace ukemi::sim
