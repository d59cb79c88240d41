// layout_memory.cpp — bytes on one worker of a layout, and the refusal.
#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi::sim {
namespace {

// Of one block and sample.
Bytes block_kept(const TransformerShape& shape, std::int64_t tensor, const MemoryRule& rule) {
    const std::int64_t width = shape.sequence_length * shape.hidden;
    const std::int64_t scores = shape.heads * shape.sequence_length * shape.sequence_length;
    const std::int64_t whole = 4 * rule.bytes_a_value * width + 2 * width;
    const std::int64_t divided =
        12 * rule.bytes_a_value * width + 2 * rule.bytes_a_value * scores + scores;
    return bytes(whole + (divided + tensor - 1) / tensor);
}

// Of one micro-batch's sample on one stage; and what is there once, whatever is kept.
struct Kept {
    Bytes each;
    Bytes once;
};
Kept kept_by_stage(const ModelProfile& model, const LayerRange& range, const LayoutRequest& request,
                   const MemoryRule& rule) {
    Kept kept;
    if (!model.transformer) {
        kept.each = rule.bytes_a_value * bytes(model.values_kept) + bytes(model.mask_bytes_kept);
        for (const LayerCost& layer : model.layers) {  // the inputs of all replicas' samples
            if (!request.split_dense) break;
            kept.each += (request.degrees.data - 1) *
                         (rule.bytes_a_value * bytes(dense_shape(layer).inputs));
        }
        return kept;
    }
    const TransformerShape& shape = *model.transformer;
    const Bytes block = block_kept(shape, request.degrees.tensor, rule);
    for (std::size_t i = range.begin; i < range.end; ++i) {
        if (!is_attention(model.layers[i])) continue;
        kept.each += request.recompute
                         ? rule.bytes_a_value * bytes(shape.sequence_length * shape.hidden)
                         : block;
    }
    if (request.recompute) kept.once = block;
    if (model.layers[range.end - 1].name == "logits") {
        kept.each += rule.bytes_a_value *
                     bytes(shape.sequence_length * (shape.vocabulary / request.degrees.tensor));
    }
    return kept;
}

// The most micro-batches whose activations a worker keeps at once, of each of its chunks.
std::vector<std::int64_t> most_kept(const LayoutRequest& request, std::int32_t stage_rank) {
    const PipelineSpec spec =
        LayoutWork{request.degrees, request.schedule, request.chunks, {}, {}}.pipeline(
            request.micro_batches);
    std::vector<std::int64_t> kept(static_cast<std::size_t>(request.chunks));
    std::vector<std::int64_t> most = kept;
    std::int64_t all = 0;
    std::int64_t most_of_all = 0;
    for (const PipelinePass& pass : pipeline_passes(spec, stage_rank)) {
        const auto chunk = static_cast<std::size_t>(pass.stage / request.degrees.pipeline);
        kept[chunk] += pass.forward ? 1 : -1;
        all += pass.forward ? 1 : -1;
        if (all > most_of_all) {
            most_of_all = all;
            most = kept;
        }
    }
    return most;
}

}  // namespace

LayoutMemory layout_memory(const ModelProfile& model, const LayoutRequest& request,
                           const MemoryRule& rule) {
    const std::vector<LayerRange> ranges =
        stage_ranges(model, request.degrees.pipeline * request.chunks);
    LayoutMemory worst;
    for (std::int32_t rank = 0; rank < request.degrees.pipeline; ++rank) {
        LayoutMemory here{rank, 0, {{}, {}, rule.reserve}};
        Bytes once;
        const std::vector<std::int64_t> most = most_kept(request, rank);
        for (std::size_t chunk = 0; chunk < most.size(); ++chunk) {
            const LayerRange& range =
                ranges[static_cast<std::size_t>(rank) +
                       chunk * static_cast<std::size_t>(request.degrees.pipeline)];
            here.need.parameters +=
                rule.bytes_a_parameter * bytes(parameters_held(model, range, request));
            const Kept kept = kept_by_stage(model, range, request, rule);
            here.need.kept += request.batch * (most[chunk] * kept.each);
            once = std::max(once, request.batch * kept.once);
            here.micro_batches_kept += most[chunk];
        }
        here.need.kept += once;
        if (rank == 0 || here.need.total() > worst.need.total()) worst = here;
    }
    return worst;
}

void check_layout_memory(const ModelProfile& model, const GpuProfile& gpu,
                         const LayoutRequest& request, const MemoryRule& rule,
                         std::string_view where) {
    const LayoutMemory memory = layout_memory(model, request, rule);
    if (memory.need.total() <= gpu.memory) return;
    LayoutRequest one = request;
    one.batch = 1;
    const LayoutMemory of_one = layout_memory(model, one, rule);
    const Bytes free = gpu.memory - of_one.need.parameters - of_one.need.reserve;
    const std::int64_t most = free < of_one.need.kept
                                  ? 0
                                  : free.raw() / std::max<std::int64_t>(of_one.need.kept.raw(), 1);
    throw InputError(
        where, "",
        fmt::format("{} with a batch of {} needs {} bytes on pipeline rank {} (parameters, "
                    "gradients and optimiser {}, kept for {} backward pass{} {}, "
                    "reserve {}), {} has {}: {}",
                    model.name, request.batch, memory.need.total().raw(), memory.stage_rank,
                    memory.need.parameters.raw(), memory.micro_batches_kept,
                    memory.micro_batches_kept == 1 ? "" : "es", memory.need.kept.raw(),
                    memory.need.reserve.raw(), gpu.name, gpu.memory.raw(),
                    most > 0 ? fmt::format("the largest batch that fits is {}", most)
                             : "not even a batch of 1 fits"));
}

}  // namespace ukemi::sim
