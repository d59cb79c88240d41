// layout_plan.cpp — stages, blocks, and the buckets of each stage.
#include "sim/step/layout_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/codec_plan.hpp"
#include "sim/step/context_sends.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi::sim {
namespace {

Bytes divided(Bytes whole, std::int64_t ranks) { return bytes((whole.raw() + ranks - 1) / ranks); }

void check_experts(const ModelProfile& model, const LayoutRequest& request,
                   std::string_view where) {
    if (!request.has_expert_sets()) return;
    const auto refuse = [&](const std::string& problem) { throw InputError(where, "", problem); };
    const std::int64_t experts = model.transformer ? model.transformer->experts : 1;
    if (request.whole_experts && (experts == 1 || !request.sequence_parallel)) {
        refuse(
            "\"expert_tensor\" below tensor is for models with experts and with "
            "\"sequence_parallel\": true, which gives each tensor rank tokens of its own");
    }
    if (experts % request.expert != 0) {
        refuse(fmt::format("{} has {} experts a block: no multiple of expert {}", model.name,
                           experts, request.expert));
    }
    if (!divides_holders(request.expert, request)) {
        refuse(fmt::format(
            "experts are divided among {} groups or within one: expected a divisor of "
            "{}context {} x data {} that is a divisor or a multiple of {}, found {}",
            request.whole_experts ? "tensor x context" : "context",
            request.whole_experts ? fmt::format("tensor {} x ", request.degrees.tensor) : "",
            request.context, request.degrees.data,
            request.whole_experts ? "tensor x context" : "context", request.expert));
    }
    if (request.divides_experts_alone()) {
        refuse(
            "with \"shard\": \"parameters\", expected more than one rank of context x data to "
            "divide what is no expert");
    }
}

void check(const ModelProfile& model, const LayoutRequest& request, std::string_view where) {
    const auto refuse = [&](const std::string& problem) { throw InputError(where, "", problem); };
    const policies::Layout& degrees = request.degrees;
    INVARIANT(degrees.tensor >= 1 && degrees.data >= 1 && degrees.pipeline >= 1);
    if (request.schedule == PipelineKind::dual_pipe && degrees.pipeline == 1) {
        refuse("dual_pipe needs an even number of workers, found a pipeline of 1");
    }
    check_pipeline(request.pipeline(), where);
    const bool cut =
        degrees.tensor > 1 || degrees.pipeline > 1 || request.chunks > 1 || request.context > 1;
    if (request.shard != Shard::none && request.split_dense) {
        refuse("\"split_dense\" divides parameters already: expected \"shard\": \"none\"");
    }
    check_experts(model, request, where);
    if (request.schedule == PipelineKind::dual_pipe &&
        (request.context > 1 || request.overlap_tensor || request.shard != Shard::none)) {
        refuse(
            "with \"dual_pipe\", expected context 1, no \"overlap_tensor\" and "
            "\"shard\": \"none\"");
    }
    if (!model.transformer) {
        if (request.shard == Shard::parameters) {
            refuse(
                fmt::format("only transformers' parameters are divided, and {} is none: "
                            "expected \"optimiser\" or \"gradients\"",
                            model.name));
        }
        if (cut || request.recompute || request.recompute_scores || request.sequence_parallel ||
            request.overlap_tensor) {
            refuse(fmt::format("only transformers are cut or computed again, and {} is none",
                               model.name));
        }
        return;
    }
    if (request.overlap_tensor && !(request.sequence_parallel && degrees.tensor > 1)) {
        refuse("\"overlap_tensor\" goes with \"sequence_parallel\": true and tensor above 1");
    }
    if (request.sequence_parallel && degrees.tensor == 1) {
        refuse("\"sequence_parallel\" divides tokens in tensor groups: expected tensor above 1");
    }
    const TransformerShape& shape = *model.transformer;
    if (request.recompute_scores && shape.flash) {
        refuse(fmt::format(
            "flash attention keeps no scores: expected no \"recompute_scores\" of {}", model.name));
    }
    if (shape.hidden % degrees.tensor != 0 || shape.heads % degrees.tensor != 0) {
        refuse(fmt::format("{} has {} heads of a hidden size of {}: no multiples of tensor {}",
                           model.name, shape.heads, shape.hidden, degrees.tensor));
    }
    const std::string fault = context_fault(shape, request);
    if (!fault.empty()) refuse(fmt::format("{} {}", model.name, fault));
    check_stages(model, request, where);
}

class StageMaker {
public:
    StageMaker(const ModelProfile& model, const LayoutRequest& request, const ModelPieces& pieces,
               std::string_view where, const LayerTimes* times)
        : model_(model),
          request_(request),
          pieces_(pieces),
          where_(where),
          times_(times),
          flops_(model.forward_flops() + model.flops_again() / 3) {}

    StageWork make(const LayerRange& range) {
        const std::vector<LayerCost>& layers = model_.layers;
        layers_ = range.end - range.begin;
        for (const LayerRange& unit : layer_units(model_, range)) {
            const std::size_t first = stage_.forward.size();
            for (std::size_t i = unit.begin; i < unit.end; ++i) forward_layer(layers[i]);
            stage_.forward[first].gathered = part_of(unit);
        }
        apart_ = request_.played() == PipelineKind::zero_bubble;
        if (request_.schedule == PipelineKind::dual_pipe) {
            apart_ = true;
            backward_pass(range);
            stage_.inputs = std::exchange(stage_.backward, {});
            apart_ = false;
            layers_back_ = 0;
        }
        backward_pass(range);
        if (!stage_.weights.empty()) stage_.weights.back().gradients_ready = 1;
        if (model_.transformer) stage_.activations = handed_on();
        make_buckets(range);
        return std::move(stage_);
    }

private:
    void backward_pass(const LayerRange& range) {
        const std::vector<LayerRange> units = layer_units(model_, range);
        for (const LayerRange& unit : units | std::views::reverse) {
            const std::size_t first = stage_.backward.size();
            backward_unit(unit, range);
            stage_.backward[first].gathered = part_of(unit);
        }
        stage_.backward.back().gradients_ready = 1;
    }

    void backward_unit(const LayerRange& unit, const LayerRange& range) {
        const std::vector<LayerCost>& layers = model_.layers;
        for (std::size_t i = unit.end; i-- > unit.begin;) {
            const bool is_again = is_computed_again(model_, range, i, request_);
            // The two halves of a block are computed again together.
            if (is_feed_forward(layers[i]) && is_again) {
                again(layers[i - 1]);
                again(layers[i]);
            }
            if (is_attention(layers[i]) && request_.recompute_scores && !is_again) {
                scores_again(layers[i]);
            }
            after_scores_ = is_again || request_.recompute_scores;
            backward_layer(layers[i]);
        }
        if (request_.shard != Shard::parameters) return;
        const std::string& name = layers[unit.begin].name;
        const Bytes whole = held_by(unit, TensorSums::by_all);
        const Bytes own = held_by(unit, TensorSums::by_some);
        if (whole > Bytes{}) stage_.buckets.push_back({name, whole, ready()});
        if (own > Bytes{} && request_.expert_adders() > 1) {
            stage_.expert_buckets.push_back({name, own, ready()});
        }
    }

    void make_buckets(const LayerRange& range) {
        const ModelProfile held = pieces_.piece(range, TensorSums::by_all);
        if (request_.shard != Shard::parameters && !held.tensors.empty()) {
            stage_.buckets = gradient_buckets(held, request_.buckets, request_.value_bytes, where_,
                                              layers_ready());
        }
        const ModelProfile own = pieces_.piece(range, TensorSums::by_some);
        if (request_.shard != Shard::parameters && !own.tensors.empty() &&
            request_.expert_adders() > 1) {
            stage_.expert_buckets = gradient_buckets(own, request_.buckets, request_.value_bytes,
                                                     where_, layers_ready());
        }
        if (request_.shard == Shard::none) return;
        scatter(stage_.buckets, request_.holders());
        scatter(stage_.expert_buckets, request_.expert_adders());
    }
    static void scatter(std::vector<GradientBucket>& buckets, std::int64_t ranks) {
        if (ranks == 1) return;
        for (GradientBucket& bucket : buckets) {
            bucket.legs = {{scatter_lane, divided(bucket.bytes, ranks)}};
        }
    }

    Bytes held_by(const LayerRange& unit, TensorSums sums) const {
        return request_.value_bytes * bytes(pieces_.parameters(unit, sums));
    }
    // Nothing comes from others where one rank has all.
    DividedPart part_of(const LayerRange& unit) const {
        if (request_.shard != Shard::parameters) return {};
        const auto part = [&](TensorSums sums, std::int64_t ranks) {
            return ranks == 1 ? Bytes{} : divided(held_by(unit, sums), ranks);
        };
        return {part(TensorSums::by_all, request_.holders()),
                part(TensorSums::by_some, request_.expert_adders())};
    }

    Bytes activations() const {
        const TransformerShape& shape = *model_.transformer;
        return tensor_parallel_traffic(shape.layers, request_.batch,
                                       shape.sequence_length / request_.context, shape.hidden,
                                       request_.value_bytes)
            .each;
    }
    // By each rank of a tensor group: all, or its own tokens'.
    Bytes handed_on() const {
        const std::int64_t parts = request_.sequence_parallel ? request_.degrees.tensor : 1;
        return bytes((activations().raw() + parts - 1) / parts);
    }
    // Without times of layers, a third of the arithmetic goes forward, two thirds back; of measured
    // steps, what was measured.
    ModelBlock block_of(const LayerCost& layer, bool forward) const {
        if (times_ == nullptr) {
            if (model_.measured) {
                const double back = model_.measured->backward_share;
                return {layer.forward_flops / flops_ * (forward ? 1 - back : back)};
            }
            const double flops =
                forward ? layer.forward_flops : 2 * layer.forward_flops + layer.flops_again;
            return {flops / flops_ / 3 / ranks()};
        }
        const auto index = static_cast<std::size_t>(&layer - model_.layers.data());
        const LayerTimes::Pass& pass = (forward ? times_->forward : times_->backward)[index];
        ModelBlock block{pass.device_s / times_->whole_s};
        block.launch_share = pass.launch_s / times_->whole_s;
        return block;
    }
    double ranks() const { return request_.degrees.tensor * request_.context; }

    // Of attention, from queries and keys to the sum of values.
    ModelBlock scores_of(const LayerCost& layer, bool forward) const {
        ModelBlock block;
        if (times_ == nullptr) {
            const TransformerShape& shape = *model_.transformer;
            const auto sequence = static_cast<double>(shape.sequence_length);
            const double flops =
                (shape.flash ? 2 : 4) * sequence * sequence * static_cast<double>(shape.queries());
            block.share = (forward ? flops : 2 * flops + layer.flops_again) / flops_ / 3 / ranks();
            return block;
        }
        const auto index = static_cast<std::size_t>(&layer - model_.layers.data());
        const LayerTimes::Pass& pass = (forward ? times_->scores : times_->scores_back)[index];
        block.share = pass.device_s / times_->whole_s;
        block.launch_share = pass.launch_s / times_->whole_s;
        return block;
    }

    // Of the first or last product of a half of a block, its first two thirds forward and back.
    ModelBlock product_of(const LayerCost& layer, bool forward, bool first) const {
        ModelBlock block;
        if (times_ == nullptr) {
            const TransformerShape& shape = *model_.transformer;
            const std::int64_t inner = (shape.gated ? 2 : 1) * shape.inner();
            const std::int64_t heads = shape.queries() + 2 * shape.kv() * shape.head();
            const std::int64_t width = is_attention(layer) ? (first ? heads : shape.queries())
                                                           : (first ? inner : shape.inner());
            const double flops = 2 * static_cast<double>(shape.hidden * width) *
                                 static_cast<double>(shape.sequence_length);
            block.share = (forward ? 1 : 2) * flops / flops_ / 3 / ranks();
            return block;
        }
        const auto index = static_cast<std::size_t>(&layer - model_.layers.data());
        const LayerTimes::Ends& ends = (forward ? times_->ends : times_->ends_back)[index];
        const LayerTimes::Pass& pass = first ? ends.first : ends.last;
        block.share = pass.device_s / times_->whole_s;
        block.launch_share = pass.launch_s / times_->whole_s;
        return block;
    }

    bool overlaps(const LayerCost& layer) const {
        return request_.overlap_tensor && (is_attention(layer) || is_feed_forward(layer)) &&
               !has_experts_elsewhere(layer) && !(request_.whole_experts && has_experts(layer));
    }
    // Forward: what is gathered beside the first product, what is scattered beside the last one.
    // Backward the reverse; gradients of weights stay in the middle if they are a pass of their
    // own.
    void add_beside(std::vector<ModelBlock>& blocks, ModelBlock whole, const LayerCost& layer,
                    bool forward) const {
        const double kept = apart_ && !forward ? 0.5 : 1;
        ModelBlock begin = product_of(layer, forward, forward);
        ModelBlock end = product_of(layer, forward, !forward);
        for (ModelBlock* product : {&begin, &end}) {
            product->share *= kept;
            product->launch_share *= kept;
            product->bytes = handed_on();
            whole.share -= product->share;
            whole.launch_share -= product->launch_share;
        }
        begin.exchange = ExchangeKind::tensor_gather;
        begin.gradients_ready = blocks.empty() ? 0 : blocks.back().gradients_ready;
        end.exchange = ExchangeKind::tensor_scatter;
        end.gradients_ready = whole.gradients_ready;
        whole.exchange.reset();
        whole.bytes = {};
        whole.gradients_ready = begin.gradients_ready;
        blocks.push_back(begin);
        add_blocks(blocks, whole, layer, forward);
        blocks.push_back(end);
    }

    // Of attention, scores are a block of their own where tokens are divided.
    void add_blocks(std::vector<ModelBlock>& blocks, ModelBlock whole, const LayerCost& layer,
                    bool forward) const {
        if (request_.context > 1 && is_attention(layer)) {
            ModelBlock scores = scores_of(layer, forward);
            whole.share -= scores.share;
            whole.launch_share -= scores.launch_share;
            scores.gradients_ready = blocks.empty() ? 0 : blocks.back().gradients_ready;
            add_scores(blocks, scores,
                       forward         ? ContextPass::forward
                       : after_scores_ ? ContextPass::backward_after_again
                                       : ContextPass::backward);
        }
        blocks.push_back(whole);
    }
    void add_scores(std::vector<ModelBlock>& blocks, ModelBlock scores, ContextPass pass) const {
        const ContextSends sends = context_sends(*model_.transformer, request_, pass);
        if (sends.before) {
            blocks.push_back({0, scores.gradients_ready, sends.before->kind, sends.before->bytes});
        }
        if (sends.of_scores) {
            scores.exchange = sends.of_scores->kind;
            scores.bytes = sends.of_scores->bytes;
        }
        blocks.push_back(scores);
    }

    bool has_experts_elsewhere(const LayerCost& layer) const {
        return request_.expert > 1 && is_feed_forward(layer);
    }
    bool has_experts(const LayerCost& layer) const {
        return model_.transformer && model_.transformer->experts > 1 && is_feed_forward(layer);
    }
    // Of tokens as often as they are sent to experts.
    Bytes taken(Bytes tokens) const { return model_.transformer->experts_per_token * tokens; }

    void reduce_activations(ModelBlock& block, const LayerCost& layer) const {
        if (request_.degrees.tensor == 1 || !(is_attention(layer) || is_feed_forward(layer)))
            return;
        if (request_.whole_experts && has_experts(layer)) return;  // each has its own tokens
        block.bytes = activations();
        if (has_experts_elsewhere(layer)) {
            if (!request_.sequence_parallel) return;  // after they are back
            block.bytes = taken(activations());
        }
        block.exchange = ExchangeKind::tensor_all_reduce;
    }
    // A layer's block; around it, of experts on other ranks, each token to those that it takes, and
    // back.
    void add_layer(std::vector<ModelBlock>& blocks, const ModelBlock& block, const LayerCost& layer,
                   bool forward, double before) const {
        const std::size_t first = blocks.size();
        if (overlaps(layer)) {
            add_beside(blocks, block, layer, forward);
        } else if (has_experts_elsewhere(layer)) {
            add_exchanged(blocks, block, layer, forward, before);
        } else {
            add_blocks(blocks, block, layer, forward);
        }
        if (forward && has_experts(layer)) blocks[first].host_waits = true;
    }
    void add_exchanged(std::vector<ModelBlock>& blocks, const ModelBlock& block,
                       const LayerCost& layer, bool forward, double before) const {
        const ModelBlock tokens{0, before, ExchangeKind::token_all_to_all, taken(handed_on())};
        blocks.push_back(tokens);
        add_blocks(blocks, block, layer, forward);
        blocks.push_back(tokens);
        blocks.back().gradients_ready = block.gradients_ready;
        if (request_.degrees.tensor == 1 || request_.sequence_parallel) return;
        blocks.push_back(
            {0, block.gradients_ready, ExchangeKind::tensor_all_reduce, activations()});
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
        add_layer(stage_.forward, block, layer, true, 0);
    }

    void again(const LayerCost& layer) {
        ModelBlock block = block_of(layer, true);
        block.gradients_ready = ready();
        reduce_activations(block, layer);
        add_layer(stage_.backward, block, layer, true, ready());
    }

    // Scores, softmax and the weighted sum.
    void scores_again(const LayerCost& layer) {
        ModelBlock block = scores_of(layer, true);
        block.gradients_ready = ready();
        add_scores(stage_.backward, block, ContextPass::scores_again);
    }

    // Of a layer's backward pass; without times of kernels, one of two products of each matrix.
    void split_off_weights(ModelBlock& block, const LayerCost& layer) {
        const double scores = is_attention(layer) ? scores_of(layer, false).share : 0;
        ModelBlock weights{(block.share - scores) / 2};
        if (times_ != nullptr) {
            const auto index = static_cast<std::size_t>(&layer - model_.layers.data());
            weights.share = times_->weights[index].device_s / times_->whole_s;
            weights.launch_share = times_->weights[index].launch_s / times_->whole_s;
        }
        weights.gradients_ready = block.gradients_ready;
        block.share -= weights.share;
        block.launch_share -= weights.launch_share;
        stage_.weights.push_back(weights);
    }

    void backward_layer(const LayerCost& layer) {
        const double before = ready();
        ++layers_back_;
        ModelBlock block = block_of(layer, false);
        block.gradients_ready = ready();
        if (apart_) split_off_weights(block, layer);
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
        add_layer(stage_.backward, block, layer, false, before);
    }

    // Of the stage's layers, the share whose backward pass is over.
    double ready() const {
        return static_cast<double>(layers_back_) / static_cast<double>(layers_);
    }
    // By layer, forward.
    std::vector<double> layers_ready() const {
        std::vector<double> shares;
        for (std::size_t back = layers_; back > 0; --back) {
            shares.push_back(static_cast<double>(back) / static_cast<double>(layers_));
        }
        return shares;
    }

    const ModelProfile& model_;
    const LayoutRequest& request_;
    const ModelPieces& pieces_;
    std::string_view where_;
    const LayerTimes* times_;
    double flops_ = 0;             // of the model, a third of both passes
    bool apart_ = false;           // gradients of weights are a pass of their own
    std::size_t layers_ = 0;       // of the stage
    std::size_t layers_back_ = 0;  // of these, whose backward pass is over
    bool after_scores_ = false;    // which were just computed again
    StageWork stage_;
};

}  // namespace

bool divides_holders(std::int64_t expert, const LayoutRequest& request) {
    const std::int64_t cell = request.expert_cell();
    return request.expert_holders() % expert == 0 && (expert % cell == 0 || cell % expert == 0);
}

bool LayoutRequest::is_plain() const {
    return degrees.tensor == 1 && degrees.pipeline == 1 && context == 1 && chunks == 1 &&
           !recompute && !recompute_scores && !sequence_parallel && !overlap_tensor &&
           !synchronised_norm && !split_dense && shard == Shard::none && !has_expert_sets() &&
           pipeline().copies() == 1 && slowed_by_sending == 0;
}

bool LayoutRequest::is_plain_but_slowed() const {
    LayoutRequest free = *this;
    free.slowed_by_sending = 0;
    return slowed_by_sending > 0 && free.is_plain();
}

namespace {

// Parameters that each rank updates of a stage: of all that hold the same, and of experts.
struct Updated {
    std::int64_t held = 0;
    std::int64_t ranks = 1;
    Bytes part(std::int64_t value_bytes) const {
        return ranks == 1 ? Bytes{} : value_bytes * divided(bytes(held), ranks);
    }
};
void add_update(LayoutWork& work, std::int64_t parameters, const LayerRange& range,
                const LayoutRequest& request, const ModelPieces& pieces, std::size_t rank) {
    const bool divides = request.shard != Shard::none;
    const Updated of_experts{pieces.parameters(range, TensorSums::by_some),
                             divides ? request.expert_adders() : 1};
    const Updated of_all{pieces.parameters(range) - of_experts.held,
                         divides ? request.holders() : 1};
    for (const Updated& one : {of_all, of_experts}) {
        work.update_shares[rank] +=
            static_cast<double>(one.held) / static_cast<double>(one.ranks * parameters);
    }
    if (request.shard != Shard::optimiser && request.shard != Shard::gradients) return;
    work.updated_parts.resize(work.update_shares.size());
    work.updated_parts[rank].of_all += of_all.part(request.value_bytes);
    work.updated_parts[rank].of_experts += of_experts.part(request.value_bytes);
}

}  // namespace

LayoutWork make_layout(const ModelProfile& model, const LayoutRequest& request,
                       std::string_view where, const LayerTimes* times) {
    check(model, request, where);
    const auto has = [&](auto&& what) { return std::ranges::any_of(model.layers, what); };
    if (request.synchronised_norm && (model.transformer || !has([](const LayerCost& layer) {
                                          return norm_channels(layer) > 0;
                                      }))) {
        throw InputError(where, "",
                         fmt::format("\"batch_norm\": \"synchronised\": {} has no batch "
                                     "normalisation",
                                     model.name));
    }
    if (request.split_dense &&
        !has([](const LayerCost& layer) { return dense_shape(layer).inputs > 0; })) {
        throw InputError(
            where, "",
            fmt::format("{} has no fully connected layer that stands alone", model.name));
    }
    LayoutWork work;
    work.degrees = request.degrees;
    work.context = request.context;
    work.expert = request.expert;
    work.whole_experts = request.whole_experts;
    work.overlaps_tensor = request.overlap_tensor;
    work.schedule = request.played();
    work.chunks = request.chunks;
    work.prefetch = request.prefetch;
    work.slowed_by_sending = request.slowed_by_sending;
    work.sends_every_pass = request.shard == Shard::gradients || request.shard == Shard::parameters;
    const PipelineSpec spec = request.pipeline();
    std::vector<LayerRange> ranges = stage_ranges(model, spec.workers * spec.chunks);
    if (spec.copies() > 1) {
        const std::vector<LayerRange> again = ranges;
        ranges.insert(ranges.end(), again.begin(), again.end());
    }
    const ModelPieces pieces(model, request);
    // What replicas divide the gradients of, each adds up its part of. With the optimiser's states
    // alone divided gradients stay whole here, as Megatron adds them up.
    work.words = divided(request.value_bytes * bytes(pieces.words_held_twice()),
                         work.sends_every_pass ? request.holders() : 1);
    const std::int64_t parameters = model.parameters();
    for (const LayerRange& range : ranges) {
        const auto stage = static_cast<std::int32_t>(work.stages.size());
        const auto rank = static_cast<std::size_t>(spec.worker_of(stage));
        work.stages.push_back(StageMaker(model, request, pieces, where, times).make(range));
        work.update_shares.resize(std::max(work.update_shares.size(), rank + 1));
        add_update(work, parameters, range, request, pieces, rank);
    }
    return work;
}

}  // namespace ukemi::sim
