// layout_memory.cpp — bytes on one worker of a layout, and the refusal.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/context_sends.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/model_pieces.hpp"

namespace ukemi::sim {
namespace {

// Of one block and sample.
Bytes bytes_kept(const TransformerShape& shape, const LayoutRequest& request,
                 const MemoryRule& rule, bool scores) {
    const BlockKept kept = block_kept(shape, scores);
    const std::int64_t ranks = std::int64_t{request.degrees.tensor} * request.context;
    std::int64_t whole =
        rule.kept(kept.whole_values, kept.whole_inputs, 0).raw() + kept.whole_bytes;
    const std::int64_t parts = request.sequence_parallel ? ranks : request.context;
    whole = (whole + parts - 1) / parts;
    // Keys and values of the copies of heads that ranks beyond their number have.
    const std::int64_t copies = request.degrees.tensor * key_heads(shape, request) - shape.kv();
    std::int64_t values = kept.values + 2 * shape.sequence_length * copies * shape.head();
    // What the heads give is there by heads and by tokens.
    if (request.context > 1 && request.context_exchange == ContextExchange::all_to_all) {
        values += shape.sequence_length * shape.queries();
    }
    const std::int64_t divided = rule.kept(values, kept.inputs, kept.twice).raw() + kept.bytes;
    return bytes(whole + (divided + ranks - 1) / ranks);
}

// Of one micro-batch's sample on one stage; what is there once more than that, while a block that
// is computed again goes back; and from when inputs' gradients are there to the weights' pass,
// which needs all that has been computed again but scores, which the block that goes back has. And
// what is there once more while the loss is computed.
struct Kept {
    Bytes each;
    Bytes once;
    Bytes loss;
    Bytes until_weights;
    Bytes scores;
    Bytes gathered;  // keys and values of others while a block computes, backward gradients, too
};
Kept kept_by_stage(const ModelProfile& model, const LayerRange& range, const LayoutRequest& request,
                   const MemoryRule& rule) {
    Kept kept;
    if (!model.transformer) {
        kept.each = rule.bytes_a_value * bytes(model.values_kept) + bytes(model.bytes_kept);
        for (const LayerCost& layer : model.layers) {  // the inputs of all replicas' samples
            if (!request.split_dense) break;
            kept.each += (request.degrees.data - 1) *
                         (rule.bytes_a_value * bytes(dense_shape(layer).inputs));
        }
        return kept;
    }
    const TransformerShape& shape = *model.transformer;
    const Bytes block = bytes_kept(shape, request, rule, true);
    kept.gathered = gathered_for_scores(shape, request);
    const Bytes other = bytes_kept(shape, request, rule, !request.recompute_scores);
    const Bytes without_scores = bytes_kept(shape, request, rule, false);
    if (request.recompute || request.recompute_scores) kept.scores = block - without_scores;
    const std::int64_t parts =
        request.context * (request.sequence_parallel ? request.degrees.tensor : 1);
    const Bytes input =
        rule.bytes_a_value * bytes((shape.sequence_length * shape.hidden + parts - 1) / parts);
    // A block has all of its own, its input among them, when those after it have gone back and are
    // free.
    Bytes most;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        if (!is_attention(model.layers[i])) continue;
        most = std::max(most, kept.each + block);
        kept.each += is_computed_again(model, range, i, request) ? input : other;
        kept.until_weights += without_scores;
    }
    if (model.layers[range.end - 1].name == "logits") {
        // And what the norm before them and their product were given.
        const std::int64_t logits =
            (shape.sequence_length / request.context) * (shape.vocabulary / request.degrees.tensor);
        const Bytes all = rule.bytes_a_logit_kept * bytes(logits) + 2 * input;
        kept.each += all;
        kept.until_weights += all;
        kept.loss = rule.once(logits);
    }
    kept.once = std::max(most - kept.each, Bytes{});
    return kept;
}

// The most that a worker keeps at once of samples that go through it, and of how many micro-batches
// it keeps activations.
struct MostKept {
    Int128 bytes = 0;
    std::int64_t micro_batches = 0;
};
MostKept most_kept(const LayoutRequest& request, std::int32_t stage_rank,
                   std::span<const Kept> by_chunk) {
    MostKept most;
    MostKept now;
    for (const PipelinePass& pass : pipeline_passes(request.pipeline(), stage_rank)) {
        const Kept& own = by_chunk[static_cast<std::size_t>(pass.stage / request.degrees.pipeline)];
        Bytes once;
        if (pass.forward) {
            now.bytes += own.each.raw();
            ++now.micro_batches;
            once = std::max(own.loss, own.gathered);
        } else if (pass.inputs) {
            now.bytes += std::max(own.until_weights - own.each, Bytes{}).raw();
            once = std::max(own.scores + 2 * own.gathered, own.loss);
        } else if (!pass.weights) {
            once = std::max(own.once + 2 * own.gathered, own.loss);
        }
        most.bytes = std::max(most.bytes, now.bytes + once.raw());
        most.micro_batches = std::max(most.micro_batches, now.micro_batches);
        if (pass.forward || pass.inputs) continue;
        now.bytes -= (pass.weights ? std::max(own.until_weights, own.each) : own.each).raw();
        --now.micro_batches;
    }
    return most;
}

// The most that `count` units have that follow each other; of units of several ranges, or of passes
// of several micro-batches, any may.
std::int64_t most_at_once(std::vector<std::int64_t> units, std::size_t count, bool in_order) {
    count = std::min(count, units.size());
    if (!in_order) std::ranges::sort(units, std::greater());
    const std::size_t windows = in_order ? units.size() - count + 1 : 1;
    std::int64_t most = 0;
    for (std::size_t first = 0; first < windows; ++first) {
        const auto from = units.begin() + static_cast<std::ptrdiff_t>(first);
        most = std::max(most, std::accumulate(from, from + static_cast<std::ptrdiff_t>(count),
                                              std::int64_t{0}));
    }
    return most;
}

// Parameters, gradients and states of the ranges that a pipeline rank holds, on one of its workers.
MemoryNeed held_by(const ModelProfile& model, std::span<const LayerRange> ranges,
                   const LayoutRequest& request, const ModelPieces& pieces,
                   const MemoryRule& rule) {
    std::int64_t all = 0;
    std::int64_t of_experts = 0;
    // Of what is not divided, since one rank holds it alone, nothing is ever brought together.
    const bool divides_experts = request.expert_adders() > 1;
    const bool divides_rest = request.holders() > 1;
    std::vector<std::int64_t> units;  // of what is divided
    for (const LayerRange& range : ranges) {
        for (const LayerRange& unit : layer_units(model, range)) {
            const std::int64_t held = pieces.parameters(unit);
            all += held;
            const std::int64_t experts = pieces.parameters(unit, TensorSums::by_some);
            of_experts += experts;
            const std::int64_t gathered =
                (divides_experts ? experts : 0) + (divides_rest ? held - experts : 0);
            units.push_back(gathered);
        }
    }
    const bool shards = request.shard != Shard::none;
    const bool divides = shards && (divides_experts || divides_rest);
    const auto part_of = [&](std::int64_t whole, std::int64_t ranks) {
        return shards ? (whole + ranks - 1) / ranks : whole;
    };
    const std::int64_t part =
        part_of(all - of_experts, request.holders()) + part_of(of_experts, request.expert_adders());
    const Bytes value = bytes(rule.bytes_a_value);
    // Without a pipeline a backward pass comes back the way that the forward pass went.
    const bool in_order = request.degrees.pipeline == 1;
    MemoryNeed need{all * value,
                    all * value,
                    rule.bytes_a_state * bytes(part),
                    rule.values_exchanged * all * value,
                    {},
                    rule.reserve};
    if (divides && request.shard != Shard::optimiser) {
        need.gradients = (part + most_at_once(units, 1, in_order)) * value;
    }
    if (divides && request.shard == Shard::parameters) {
        const auto whole = static_cast<std::size_t>(request.prefetch) + 1;
        need.weights = (part + most_at_once(units, whole, in_order)) * value;
    }
    return need;
}

std::vector<LayoutMemory> memory_by_rank(const ModelProfile& model, const LayoutRequest& request,
                                         const MemoryRule& rule) {
    const std::vector<LayerRange> ranges =
        stage_ranges(model, request.degrees.pipeline * request.chunks);
    const ModelPieces pieces(model, request);
    std::vector<LayoutMemory> all;
    for (std::int32_t rank = 0; rank < request.degrees.pipeline; ++rank) {
        LayoutMemory here{rank, 0, {}};
        std::vector<LayerRange> held;
        std::vector<Kept> kept;  // by chunk
        const PipelineSpec spec = request.pipeline();
        for (std::int32_t chunk = 0; chunk < spec.chunks * spec.copies(); ++chunk) {
            auto stage = static_cast<std::size_t>(rank + chunk * request.degrees.pipeline);
            if (stage >= ranges.size()) stage = ranges.size() - 1 - static_cast<std::size_t>(rank);
            held.push_back(ranges[stage]);
            kept.push_back(kept_by_stage(model, ranges[stage], request, rule));
        }
        const MostKept most = most_kept(request, rank, kept);
        here.micro_batches_kept = most.micro_batches;
        here.need = held_by(model, held, request, pieces, rule);
        here.need.kept = bytes_counted(Int128{request.batch} * most.bytes);
        all.push_back(here);
    }
    return all;
}

// Of these pipeline ranks: none, all.
std::vector<LayoutMemory> memory_of(const ModelProfile& model, const LayoutRequest& request,
                                    const MemoryRule& rule,
                                    std::span<const std::int32_t> stage_ranks) {
    std::vector<LayoutMemory> all = memory_by_rank(model, request, rule);
    if (!stage_ranks.empty()) {
        std::erase_if(all, [&](const LayoutMemory& one) {
            return std::ranges::find(stage_ranks, one.stage_rank) == stage_ranks.end();
        });
    }
    return all;
}

Bytes total_of(const LayoutMemory& memory) { return memory.need.total(); }

// Where it is the schedule that keeps too much of a batch of 1.
std::string hint_of(const ModelProfile& model, const GpuProfile& gpu, const LayoutRequest& request,
                    const MemoryRule& rule) {
    if (request.played() != PipelineKind::gpipe) return "";
    LayoutRequest other = request;
    other.schedule = PipelineKind::one_forward_one_backward;
    const LayoutMemory memory = layout_memory(model, other, rule);
    if (memory.need.total() > gpu.memory) return "";
    return fmt::format(
        " beside the {} micro-batches that gpipe keeps; with one_forward_one_backward, which keeps "
        "{}, it does",
        request.micro_batches, memory.micro_batches_kept);
}

// The largest that fits on all ranks.
std::int64_t largest_batch(const ModelProfile& model, const GpuProfile& gpu, LayoutRequest request,
                           const MemoryRule& rule, std::span<const std::int32_t> stage_ranks) {
    request.batch = 1;
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const LayoutMemory& one : memory_of(model, request, rule, stage_ranks)) {
        const Bytes free = gpu.memory - (one.need.total() - one.need.kept);
        const std::int64_t here = std::max<std::int64_t>(one.need.kept.raw(), 1);
        most = std::min(most, std::max<std::int64_t>(free.raw(), 0) / here);
    }
    return most;
}

}  // namespace

LayoutMemory layout_memory(const ModelProfile& model, const LayoutRequest& request,
                           const MemoryRule& rule) {
    const std::vector<LayoutMemory> all = memory_by_rank(model, request, rule);
    return *std::ranges::max_element(all, {}, total_of);
}

void check_layout_memory(const ModelProfile& model, const GpuProfile& gpu,
                         const LayoutRequest& request, const MemoryRule& rule,
                         std::string_view where, std::span<const std::int32_t> stage_ranks) {
    const std::vector<LayoutMemory> all = memory_of(model, request, rule, stage_ranks);
    const LayoutMemory& memory = *std::ranges::max_element(all, {}, total_of);
    if (memory.need.total() <= gpu.memory) return;
    expect_countable(memory.need, model, request.batch, where);
    LayoutRequest one = request;
    one.batch = 1;
    const std::int64_t most = largest_batch(model, gpu, request, rule, stage_ranks);
    const Bytes exchange = memory.need.exchange;
    throw InputError(
        where, "",
        fmt::format(
            "{} with a batch of {} needs {} bytes on pipeline rank {} (parameters, "
            "gradients and optimiser {}{}, kept for {} backward pass{} {}, "
            "reserve {}), {} has {}: {}",
            model.name, request.batch, memory.need.total().raw(), memory.stage_rank,
            memory.need.parameters().raw(),
            exchange > Bytes{} ? fmt::format(", kept of the exchange {}", exchange.raw()) : "",
            memory.micro_batches_kept, memory.micro_batches_kept == 1 ? "" : "es",
            memory.need.kept.raw(), memory.need.reserve.raw(), gpu.name, gpu.memory.raw(),
            most > 0 ? fmt::format("the largest batch that fits is {}", most)
                     : "not even a batch of 1 fits" + hint_of(model, gpu, one, rule)));
}

}  // namespace ukemi::sim
