// pipeline.cpp — the lists of passes, and when each of them runs.
#include "sim/step/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi {
namespace {

// The k-th forward (or backward) pass of a worker.
PipelinePass numbered(const PipelineSpec& spec, std::int32_t worker, std::int32_t k, bool forward) {
    const std::int32_t p = spec.workers;
    const std::int32_t v = spec.chunks;
    if (v == 1) return {forward, worker, k};
    const std::int32_t chunk = k % (p * v) / p;
    return {forward, (forward ? chunk : v - 1 - chunk) * p + worker, k / (p * v) * p + k % p};
}

class PipelineRun {
public:
    explicit PipelineRun(const PipelineSpec& spec)
        : spec_(spec),
          stages_(spec.workers * spec.chunks),
          ends_(
              static_cast<std::size_t>(2 * stages_) * static_cast<std::size_t>(spec.micro_batches),
              Instant::never()) {
        for (std::int32_t worker = 0; worker < spec.workers; ++worker) {
            lists_.push_back(pipeline_passes(spec, worker));
        }
        done_.resize(lists_.size());
        free_at_.resize(lists_.size());
    }

    PipelineStep run() {
        PipelineStep step;
        step.most_kept.resize(lists_.size());
        std::vector<std::int32_t> kept(lists_.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
                while (done_[worker] < lists_[worker].size() && play(worker)) {
                    moved = true;
                    const PipelinePass& pass = lists_[worker][done_[worker]++];
                    kept[worker] += pass.forward ? 1 : -1;
                    step.most_kept[worker] = std::max(step.most_kept[worker], kept[worker]);
                }
            }
        }
        for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
            INVARIANT(done_[worker] == lists_[worker].size());
            step.length = std::max(step.length, free_at_[worker].since_start());
        }
        step.ideal =
            (std::int64_t{spec_.micro_batches} * spec_.chunks) * (spec_.forward + spec_.backward);
        return step;
    }

private:
    Instant& end_of(bool forward, std::int32_t stage, std::int32_t micro_batch) {
        const std::int64_t row = (forward ? 0 : stages_) + stage;
        return ends_[static_cast<std::size_t>(row * spec_.micro_batches + micro_batch)];
    }

    // Whether the worker's next pass could run: what it needs is known.
    bool play(std::size_t worker) {
        const PipelinePass& pass = lists_[worker][done_[worker]];
        Instant ready;
        const bool first = pass.forward && pass.stage == 0;
        const bool turning = !pass.forward && pass.stage == stages_ - 1;
        if (!first) {
            const std::int32_t before = turning        ? pass.stage
                                        : pass.forward ? pass.stage - 1
                                                       : pass.stage + 1;
            ready = end_of(pass.forward || turning, before, pass.micro_batch);
            if (ready == Instant::never()) return false;
            if (!turning && spec_.workers > 1) ready = ready + spec_.transfer;
        }
        const Instant end =
            std::max(ready, free_at_[worker]) + (pass.forward ? spec_.forward : spec_.backward);
        free_at_[worker] = end;
        end_of(pass.forward, pass.stage, pass.micro_batch) = end;
        return true;
    }

    const PipelineSpec& spec_;
    std::int32_t stages_;
    std::vector<Instant> ends_;  // of forward passes, then of backward ones; never: not yet
    std::vector<std::vector<PipelinePass>> lists_;
    std::vector<std::size_t> done_;
    std::vector<Instant> free_at_;
};

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
    if (spec.kind == PipelineKind::one_forward_one_backward) warm_up = p - worker - 1;
    if (spec.kind == PipelineKind::interleaved) {
        warm_up = spec.chunks == 1 ? p - worker - 1 : (p - worker - 1) * 2 + (spec.chunks - 1) * p;
    }
    warm_up = std::min(warm_up, all);
    std::vector<PipelinePass> passes;
    for (std::int32_t k = 0; k < all + warm_up; ++k) {
        if (k < all) passes.push_back(numbered(spec, worker, k, true));
        if (k >= warm_up) passes.push_back(numbered(spec, worker, k - warm_up, false));
    }
    return passes;
}

PipelineStep pipeline_step(const PipelineSpec& spec, std::string_view where) {
    check_pipeline(spec, where);
    if (spec.forward < Duration{} || spec.backward < Duration{} || spec.transfer < Duration{} ||
        spec.forward + spec.backward == Duration{}) {
        throw InputError(where, "", "a pipeline's passes take some time, and none is negative");
    }
    return PipelineRun(spec).run();
}

TensorParallelTraffic tensor_parallel_traffic(std::int64_t layers, std::int64_t batch,
                                              std::int64_t sequence, std::int64_t hidden,
                                              std::int64_t bytes_per_value) {
    INVARIANT(layers >= 1 && batch >= 1 && sequence >= 1 && hidden >= 1 && bytes_per_value >= 1);
    return {4 * layers, batch * (sequence * (hidden * bytes(bytes_per_value)))};
}

}  // namespace ukemi
