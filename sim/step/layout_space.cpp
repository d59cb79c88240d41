// layout_space.cpp — divisors of divisors.
#include "sim/step/layout_space.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/step/context_sends.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi::sim {
namespace {

constexpr std::int64_t degree_most = 1024;          // of tensor and pipeline, as scenarios have it
constexpr std::int64_t accumulation_most = 10'000;  // and of micro-batches
constexpr std::int64_t batch_most = 1'000'000;

std::vector<std::int64_t> divisors_of(std::int64_t number, std::int64_t most) {
    std::vector<std::int64_t> all;
    for (std::int64_t one = 1; one <= number && one <= most; ++one) {
        if (number % one == 0) all.push_back(one);
    }
    return all;
}

class LayoutSpace {
public:
    LayoutSpace(const ModelProfile& model, LayoutDimensions wide) : model_(model), wide_(wide) {}

    // Of a context degree, which the request has; `workers` are what it leaves.
    void add_degrees(LayoutRequest request, std::int64_t samples, std::int64_t workers);
    std::vector<LayoutRequest> take() { return std::move(all_); }

private:
    // One schedule, or one and so many chunks, that the request's degrees and micro-batches allow.
    void add_schedules(LayoutRequest request) {
        const std::int32_t pipeline = request.degrees.pipeline;
        const bool both_ways = request.schedule == PipelineKind::dual_pipe;
        const bool apart =
            (both_ways || request.schedule == PipelineKind::zero_bubble) && pipeline > 1;
        request.schedule =
            apart ? PipelineKind::zero_bubble : PipelineKind::one_forward_one_backward;
        request.chunks = 1;
        add(request);
        if (both_ways && pipeline % 2 == 0 && request.micro_batches % 2 == 0 &&
            request.micro_batches >= 2 * pipeline && request.context == 1 &&
            request.shard == Shard::none && !request.overlap_tensor) {
            request.schedule = PipelineKind::dual_pipe;
            add(request);
        }
        if (pipeline == 1) return;
        request.schedule = PipelineKind::gpipe;
        if (request.micro_batches > 1) add(request);  // of one it is one_forward_one_backward
        if (request.micro_batches % pipeline != 0) return;
        request.schedule = PipelineKind::interleaved;
        for (std::int32_t chunks = 2; chunks <= degree_most; ++chunks) {
            request.chunks = chunks;
            const std::int64_t stages = std::int64_t{pipeline} * chunks;
            if (stages > model_.transformer->layers) break;
            if (stages > pipeline_passes_max / request.micro_batches) break;
            if (blocks_of(stages) > 0) add(request);
        }
    }

    // Of a stage; 0: they cannot be cut so.
    std::int64_t blocks_of(std::int64_t stages) const {
        return stage_blocks(model_.transformer->layers, stages).each;
    }

    void add(LayoutRequest request) {
        const std::int64_t stages = std::int64_t{request.degrees.pipeline} * request.chunks;
        const std::int64_t of_stage = model_.transformer ? blocks_of(stages) : 0;
        request.recompute_blocks = std::min(request.recompute_blocks, of_stage);
        all_.push_back(request);
        if (!wide_.recompute || !request.recompute) return;
        for (std::int64_t blocks = 1; blocks < of_stage; ++blocks) {
            request.recompute_blocks = blocks;
            all_.push_back(request);
        }
    }

    // As the request has it, or each that its degrees and the model allow.
    void add_shards(LayoutRequest request) {
        if (!wide_.shard) return add_schedules(request);
        const bool alone = std::max(request.holders(), request.expert_adders()) == 1;
        for (std::size_t i = 0; i < shard_names.size(); ++i) {
            request.shard = static_cast<Shard>(i);
            if (request.shard != Shard::none && (alone || request.split_dense)) break;
            if (request.shard == Shard::parameters && !model_.transformer) break;
            if (request.divides_experts_alone()) break;
            add_schedules(request);
        }
    }

    void add_experts(LayoutRequest request) {
        const std::int64_t experts = model_.transformer ? model_.transformer->experts : 1;
        if (!wide_.expert) {
            const bool divides =
                !request.has_expert_sets() ||
                (experts % request.expert == 0 && divides_holders(request.expert, request));
            if (divides) add_shards(request);
            return;
        }
        request.expert = 1;
        request.whole_experts = false;
        add_shards(request);
        const bool may_be_whole = request.sequence_parallel && request.degrees.tensor > 1;
        for (const bool whole : {false, true}) {
            if (whole && (!may_be_whole || experts == 1)) break;
            request.whole_experts = whole;
            for (const std::int64_t ranks : divisors_of(request.expert_holders(), experts)) {
                if (experts % ranks != 0 || !divides_holders(ranks, request)) continue;
                request.expert = static_cast<std::int32_t>(ranks);
                if (request.has_expert_sets()) add_shards(request);
            }
        }
    }

    // A context degree that the search did not choose and that goes with no tensor degree is left
    // to make_layout(), which says why.
    bool cannot_divide_tokens(LayoutRequest request) const {
        if (!model_.transformer || context_fault(*model_.transformer, request).empty())
            return false;
        request.degrees.tensor = 1;
        return wide_.context || context_fault(*model_.transformer, request).empty();
    }

    const ModelProfile& model_;
    LayoutDimensions wide_;
    std::vector<LayoutRequest> all_;
};

std::vector<std::int64_t> contexts_of(const ModelProfile& model, const LayoutRequest& like,
                                      std::int64_t workers, bool all_of_them) {
    if (!all_of_them || !model.transformer) return {like.context};
    return divisors_of(workers, degree_most);
}

void LayoutSpace::add_degrees(LayoutRequest request, std::int64_t samples, std::int64_t workers) {
    const std::optional<TransformerShape>& shape = model_.transformer;
    const std::int64_t cut_most = shape ? degree_most : 1;
    const bool sequence_parallel = request.sequence_parallel;
    const bool overlap_tensor = request.overlap_tensor;
    for (const std::int64_t tensor : divisors_of(workers, cut_most)) {
        if (shape && (shape->hidden % tensor != 0 || shape->heads % tensor != 0)) continue;
        request.degrees.tensor = static_cast<std::int32_t>(tensor);
        if (cannot_divide_tokens(request)) continue;
        request.sequence_parallel = sequence_parallel && tensor > 1;
        request.overlap_tensor = overlap_tensor && tensor > 1;
        for (const std::int64_t pipeline : divisors_of(workers / tensor, cut_most)) {
            const std::int64_t data = workers / tensor / pipeline;
            if (samples % data != 0) continue;
            if (shape && blocks_of(pipeline) == 0) continue;
            request.degrees = {static_cast<std::int32_t>(data), static_cast<std::int32_t>(pipeline),
                               static_cast<std::int32_t>(tensor)};
            for (const std::int64_t batch : divisors_of(samples / data, batch_most)) {
                request.batch = batch;
                request.micro_batches = samples / data / batch;
                if (request.micro_batches > accumulation_most) continue;
                for (const bool again : {false, true}) {
                    if (again && !shape) continue;
                    request.recompute = again;
                    add_experts(request);
                }
            }
        }
    }
}

}  // namespace

std::vector<LayoutRequest> all_layouts(const ModelProfile& model, const LayoutRequest& like,
                                       std::int64_t workers, LayoutDimensions wide) {
    const std::int64_t samples = like.batch * like.micro_batches * like.degrees.data;
    LayoutSpace space(model, wide);
    for (const std::int64_t context : contexts_of(model, like, workers, wide.context)) {
        LayoutRequest request = like;
        request.recompute_by_stage.clear();
        if (wide.recompute) request.recompute_blocks = 0;
        request.context = static_cast<std::int32_t>(context);
        space.add_degrees(request, samples, workers / context);
    }
    return space.take();
}

}  // namespace ukemi::sim
