// layout_space.cpp — divisors of divisors.
#include "sim/step/layout_space.hpp"

#include "base/invariant.hpp"

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

// One schedule, or one and so many chunks, that the request's degrees and micro-batches allow.
void add_schedules(const ModelProfile& model, LayoutRequest request,
                   std::vector<LayoutRequest>& all) {
    const std::int32_t pipeline = request.degrees.pipeline;
    const bool both_ways = request.schedule == PipelineKind::dual_pipe;
    const bool apart = (both_ways || request.schedule == PipelineKind::zero_bubble) && pipeline > 1;
    request.schedule = apart ? PipelineKind::zero_bubble : PipelineKind::one_forward_one_backward;
    request.chunks = 1;
    all.push_back(request);
    if (both_ways && pipeline % 2 == 0 && request.micro_batches % 2 == 0 &&
        request.micro_batches >= 2 * pipeline && request.context == 1 &&
        request.shard == Shard::none && !request.overlap_tensor) {
        request.schedule = PipelineKind::dual_pipe;
        all.push_back(request);
    }
    if (pipeline == 1 || request.micro_batches % pipeline != 0) return;
    request.schedule = PipelineKind::interleaved;
    for (const std::int64_t chunks :
         divisors_of(model.transformer->layers / pipeline, degree_most)) {
        request.chunks = static_cast<std::int32_t>(chunks);
        if (pipeline * chunks > pipeline_passes_max / request.micro_batches) continue;
        if (chunks > 1) all.push_back(request);
    }
}

// As the request has it, or each that its degrees and the model allow.
void add_shards(const ModelProfile& model, LayoutRequest request, bool all_of_them,
                std::vector<LayoutRequest>& all) {
    if (!all_of_them) return add_schedules(model, request, all);
    for (std::size_t i = 0; i < shard_names.size(); ++i) {
        request.shard = static_cast<Shard>(i);
        if (request.shard != Shard::none && (request.holders() == 1 || request.split_dense)) break;
        if (request.shard == Shard::parameters && !model.transformer) break;
        add_schedules(model, request, all);
    }
}

std::vector<std::int64_t> contexts_of(const ModelProfile& model, const LayoutRequest& like,
                                      std::int64_t workers, bool all_of_them) {
    if (!all_of_them || !model.transformer) return {like.context};
    std::vector<std::int64_t> contexts;
    for (const std::int64_t context : divisors_of(workers, degree_most)) {
        const std::int64_t parts = context == 1 ? 1 : 2 * context;
        if (model.transformer->sequence_length % parts == 0) contexts.push_back(context);
    }
    return contexts;
}

void add_experts(const ModelProfile& model, LayoutRequest request, LayoutDimensions wide,
                 std::vector<LayoutRequest>& all) {
    if (!wide.expert) return add_shards(model, request, wide.shard, all);
    request.expert = 1;
    add_shards(model, request, wide.shard, all);
    const std::int64_t experts = model.transformer ? model.transformer->experts : 1;
    if (wide.shard) request.shard = Shard::none;
    if (request.shard != Shard::none) return;
    for (const std::int64_t ranks : divisors_of(request.holders(), experts)) {
        if (ranks == 1 || experts % ranks != 0 || !divides_holders(ranks, request)) continue;
        request.expert = static_cast<std::int32_t>(ranks);
        add_schedules(model, request, all);
    }
}

// Of a context degree, which the request has; `workers` are what it leaves.
void add_degrees(const ModelProfile& model, LayoutRequest request, std::int64_t samples,
                 std::int64_t workers, LayoutDimensions wide, std::vector<LayoutRequest>& all) {
    const std::int64_t cut_most = model.transformer ? degree_most : 1;
    for (const std::int64_t tensor : divisors_of(workers, cut_most)) {
        if (model.transformer &&
            (model.transformer->hidden % tensor != 0 || model.transformer->heads % tensor != 0)) {
            continue;
        }
        for (const std::int64_t pipeline : divisors_of(workers / tensor, cut_most)) {
            const std::int64_t data = workers / tensor / pipeline;
            if (samples % data != 0) continue;
            if (model.transformer && model.transformer->layers % pipeline != 0) continue;
            request.degrees = {static_cast<std::int32_t>(data), static_cast<std::int32_t>(pipeline),
                               static_cast<std::int32_t>(tensor)};
            for (const std::int64_t batch : divisors_of(samples / data, batch_most)) {
                request.batch = batch;
                request.micro_batches = samples / data / batch;
                if (request.micro_batches > accumulation_most) continue;
                for (const bool again : {false, true}) {
                    if (again && !model.transformer) continue;
                    request.recompute = again;
                    add_experts(model, request, wide, all);
                }
            }
        }
    }
}

}  // namespace

std::vector<LayoutRequest> all_layouts(const ModelProfile& model, const LayoutRequest& like,
                                       std::int64_t workers, LayoutDimensions wide) {
    const std::int64_t samples = like.batch * like.micro_batches * like.degrees.data;
    std::vector<LayoutRequest> all;
    for (const std::int64_t context : contexts_of(model, like, workers, wide.context)) {
        LayoutRequest request = like;
        request.context = static_cast<std::int32_t>(context);
        add_degrees(model, request, samples, workers / context, wide, all);
    }
    return all;
}

}  // namespace ukemi::sim
