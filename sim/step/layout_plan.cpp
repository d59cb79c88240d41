// layout_plan.cpp — stages, blocks, and the buckets of each stage.
#include "sim/step/layout_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi::sim {
namespace {

void check(const ModelProfile& model, const LayoutRequest& request, std::string_view where) {
    const auto refuse = [&](const std::string& problem) { throw InputError(where, "", problem); };
    const policies::Layout& degrees = request.degrees;
    INVARIANT(degrees.tensor >= 1 && degrees.data >= 1 && degrees.pipeline >= 1);
    check_pipeline(LayoutWork{degrees, request.schedule, request.chunks, {}, {}}.pipeline(
                       request.micro_batches),
                   where);
    const bool cut = degrees.tensor > 1 || degrees.pipeline > 1 || request.chunks > 1;
    if (!model.transformer) {
        if (cut || request.recompute) {
            refuse(fmt::format("only transformers are cut or computed again, and {} is none",
                               model.name));
        }
        return;
    }
    const TransformerShape& shape = *model.transformer;
    if (shape.hidden % degrees.tensor != 0 || shape.heads % degrees.tensor != 0) {
        refuse(fmt::format("{} has {} heads of a hidden size of {}: no multiples of tensor {}",
                           model.name, shape.heads, shape.hidden, degrees.tensor));
    }
    const std::int64_t stages = std::int64_t{degrees.pipeline} * request.chunks;
    if (shape.layers % stages != 0) {
        refuse(fmt::format("{} has {} blocks: no multiple of {} stages", model.name, shape.layers,
                           stages));
    }
}

class StageMaker {
public:
    StageMaker(const ModelProfile& model, const LayoutRequest& request, std::string_view where,
               const LayerTimes* times)
        : model_(model),
          request_(request),
          where_(where),
          times_(times),
          flops_(model.forward_flops()) {}

    StageWork make(const LayerRange& range) {
        const std::vector<LayerCost>& layers = model_.layers;
        stage_flops_ = 0;
        for (std::size_t i = range.begin; i < range.end; ++i)
            stage_flops_ += layers[i].forward_flops;
        for (std::size_t i = range.begin; i < range.end; ++i) forward_layer(layers[i]);
        for (std::size_t i = range.end; i-- > range.begin;) {
            // The two halves of a block are computed again together.
            if (request_.recompute && i > range.begin && is_feed_forward(layers[i])) {
                again(layers[i - 1]);
                again(layers[i]);
            }
            backward_layer(layers[i]);
        }
        stage_.backward.back().gradients_ready = 1;
        if (model_.transformer) stage_.activations = activations();
        const ModelProfile held = piece_of(model_, range, request_);
        if (!held.tensors.empty()) {
            stage_.buckets = gradient_buckets(held, request_.buckets, request_.value_bytes, where_);
        }
        return std::move(stage_);
    }

private:
    Bytes activations() const {
        const TransformerShape& shape = *model_.transformer;
        return tensor_parallel_traffic(shape.layers, request_.batch, shape.sequence_length,
                                       shape.hidden, request_.value_bytes)
            .each;
    }
    // Without times of layers, a third of the arithmetic goes forward, two thirds back.
    ModelBlock block_of(const LayerCost& layer, bool forward) const {
        if (times_ == nullptr) {
            const double share = layer.forward_flops / flops_ / 3 / request_.degrees.tensor;
            return {forward ? share : 2 * share};
        }
        const auto index = static_cast<std::size_t>(&layer - model_.layers.data());
        const LayerTimes::Pass& pass = (forward ? times_->forward : times_->backward)[index];
        ModelBlock block{pass.device_s / times_->whole_s};
        block.launch_share = pass.launch_s / times_->whole_s;
        return block;
    }
    void reduce_activations(ModelBlock& block, const LayerCost& layer) const {
        if (request_.degrees.tensor == 1 || !(is_attention(layer) || is_feed_forward(layer)))
            return;
        block.exchange = ExchangeKind::tensor_all_reduce;
        block.bytes = activations();
    }
    Bytes values(std::int64_t count) const {
        return request_.batch * (request_.value_bytes * bytes(count));
    }

    void forward_layer(const LayerCost& layer) {
        ModelBlock block = block_of(layer, true);
        reduce_activations(block, layer);
        if (request_.synchronised_norm && norm_channels(layer) > 0) {
            block.exchange = ExchangeKind::all_reduce;
            block.bytes = bytes(4 * (2 * norm_channels(layer) + 1));
        }
        const DenseShape dense = dense_shape(layer);
        if (request_.split_dense && dense.inputs > 0) {
            stage_.forward.push_back({0, 0, ExchangeKind::all_gather, values(dense.inputs)});
            block.exchange = ExchangeKind::all_to_all;
            block.bytes = values(dense.outputs);
        }
        stage_.forward.push_back(block);
    }

    void again(const LayerCost& layer) {
        ModelBlock block = block_of(layer, true);
        block.gradients_ready = ready();
        reduce_activations(block, layer);
        stage_.backward.push_back(block);
    }

    void backward_layer(const LayerCost& layer) {
        const double before = ready();
        flops_back_ += layer.forward_flops;
        ModelBlock block = block_of(layer, false);
        block.gradients_ready = ready();
        reduce_activations(block, layer);
        if (request_.synchronised_norm && norm_channels(layer) > 0) {
            block.exchange = ExchangeKind::all_reduce;
            block.bytes = bytes(4 * 2 * norm_channels(layer));
        }
        const DenseShape dense = dense_shape(layer);
        if (request_.split_dense && dense.inputs > 0) {
            stage_.backward.push_back({0, before, ExchangeKind::all_to_all, values(dense.outputs)});
            block.exchange = ExchangeKind::reduce_scatter;
            block.bytes = values(dense.inputs);
        }
        stage_.backward.push_back(block);
    }

    double ready() const { return stage_flops_ > 0 ? flops_back_ / stage_flops_ : 0; }

    const ModelProfile& model_;
    const LayoutRequest& request_;
    std::string_view where_;
    const LayerTimes* times_;
    double flops_ = 0;        // of the model
    double stage_flops_ = 0;  // forward, of the stage
    double flops_back_ = 0;   // of these, of the layers whose backward pass is over
    StageWork stage_;
};

}  // namespace

bool LayoutRequest::is_plain() const {
    return degrees.tensor == 1 && degrees.pipeline == 1 && chunks == 1 && !recompute &&
           !synchronised_norm && !split_dense;
}

LayoutWork make_layout(const ModelProfile& model, const LayoutRequest& request,
                       std::string_view where, const LayerTimes* times) {
    check(model, request, where);
    const auto has = [&](auto&& what) { return std::ranges::any_of(model.layers, what); };
    if (request.synchronised_norm && (model.transformer || !has([](const LayerCost& layer) {
                                          return norm_channels(layer) > 0;
                                      }))) {
        throw InputError(where, "", fmt::format("{} has no batch normalisation", model.name));
    }
    if (request.split_dense &&
        !has([](const LayerCost& layer) { return dense_shape(layer).inputs > 0; })) {
        throw InputError(
            where, "",
            fmt::format("{} has no fully connected layer that stands alone", model.name));
    }
    LayoutWork work;
    work.degrees = request.degrees;
    work.schedule = request.schedule;
    work.chunks = request.chunks;
    for (const LayerRange& range : stage_ranges(model, request.degrees.pipeline * request.chunks)) {
        const std::size_t rank =
            work.stages.size() % static_cast<std::size_t>(request.degrees.pipeline);
        work.stages.push_back(StageMaker(model, request, where, times).make(range));
        work.update_shares.resize(std::max(work.update_shares.size(), rank + 1));
        work.update_shares[rank] += static_cast<double>(parameters_held(model, range, request)) /
                                    static_cast<double>(model.parameters());
    }
    return work;
}

}  // namespace ukemi::sim
