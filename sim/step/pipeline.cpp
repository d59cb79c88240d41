// pipeline.cpp — the lists of passes.
#include "sim/step/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

// The k-th forward (or backward) pass of a worker.
PipelinePass numbered(const PipelineSpec& spec, std::int32_t worker, std::int32_t k, bool forward) {
    const std::int32_t p = spec.workers;
    const std::int32_t v = spec.chunks;
    if (v == 1) return {forward, worker, k};
    const std::int32_t chunk = k % (p * v) / p;
    return {forward, (forward ? chunk : v - 1 - chunk) * p + worker, k / (p * v) * p + k % p};
}

}  // namespace

void check_pipeline(const PipelineSpec& spec, std::string_view where) {
    const auto refuse = [&](const std::string& problem) { throw InputError(where, "", problem); };
    if (spec.workers < 1 || spec.micro_batches < 1 || spec.chunks < 1) {
        refuse("a pipeline needs at least one worker, one micro-batch and one chunk");
    }
    if (spec.kind != PipelineKind::interleaved && spec.chunks != 1) {
        refuse(fmt::format("only an interleaved pipeline has chunks, found {}", spec.chunks));
    }
    if (spec.kind == PipelineKind::interleaved && spec.micro_batches % spec.workers != 0) {
        refuse(
            fmt::format("interleaved needs a multiple of its {} workers as micro-batches, "
                        "found {}",
                        spec.workers, spec.micro_batches));
    }
    if (std::int64_t{spec.workers} * spec.chunks > pipeline_passes_max / spec.micro_batches) {
        refuse(fmt::format("a pipeline has at most {} passes", pipeline_passes_max));
    }
}

std::vector<PipelinePass> pipeline_passes(const PipelineSpec& spec, std::int32_t worker) {
    const std::int32_t p = spec.workers;
    const std::int32_t all = spec.micro_batches * spec.chunks;
    std::int32_t warm_up = all;  // gpipe
    const bool apart = spec.kind == PipelineKind::zero_bubble;
    if (apart || spec.kind == PipelineKind::one_forward_one_backward) warm_up = p - worker - 1;
    if (spec.kind == PipelineKind::interleaved) {
        warm_up = spec.chunks == 1 ? p - worker - 1 : (p - worker - 1) * 2 + (spec.chunks - 1) * p;
    }
    warm_up = std::min(warm_up, all);
    std::vector<PipelinePass> passes;
    for (std::int32_t k = 0; k < all + warm_up; ++k) {
        if (k < all) passes.push_back(numbered(spec, worker, k, true));
        if (k >= warm_up) passes.push_back(numbered(spec, worker, k - warm_up, false));
        const std::int32_t of_weights = k - warm_up - worker;  // put off by so many micro-batches
        if (apart && of_weights >= 0) passes.push_back({false, worker, of_weights, true});
    }
    for (std::int32_t k = std::max(all - worker, 0); apart && k < all; ++k) {
        passes.push_back({false, worker, k, true});
    }
    return passes;
}

TensorParallelTraffic tensor_parallel_traffic(std::int64_t layers, std::int64_t batch,
                                              std::int64_t sequence, std::int64_t hidden,
                                              std::int64_t bytes_per_value) {
    INVARIANT(layers >= 1 && batch >= 1 && sequence >= 1 && hidden >= 1 && bytes_per_value >= 1);
    return {4 * layers, batch * (sequence * (hidden * bytes(bytes_per_value)))};
}

}  // namespace ukemi::sim
