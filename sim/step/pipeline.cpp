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

// DualPipe's list of one worker. Way 0 is the one that begins nearer to it; `near` counts from that
// end. The eight parts and how often each is repeated are those of DeepSeek's published schedule.
class DualList {
public:
    DualList(const PipelineSpec& spec, std::int32_t worker) : spec_(spec), worker_(worker) {}

    std::vector<PipelinePass> made() {
        const std::int32_t half = spec_.workers / 2;
        const std::int32_t near = std::min(worker_, spec_.workers - 1 - worker_);
        const std::int32_t far = half - near - 1;
        for (std::int32_t i = 0; i < 2 * far; ++i) forward(0);
        for (std::int32_t i = 0; i <= near; ++i) forward_both();
        for (std::int32_t i = 0; i < far; ++i) {
            backward(1, true);
            weights();
            forward(1);
        }
        const std::int32_t pairs = spec_.micro_batches / 2 - spec_.workers + near + 1;
        for (std::int32_t i = 0; i < pairs; ++i) {
            // Between the two workers in the middle the first pair would wait for itself.
            pair(0, 1, i > 0 || far > 0);
            pair(1, 0, true);
        }
        for (std::int32_t i = 0; i < far; ++i) {
            backward(1, false);
            pair(1, 0, true);
        }
        // From the middle on, weights' gradients are put off.
        for (std::int32_t i = 0; i < 2 * (near + 1); ++i) backward(i % 2 == 0 ? 1 : 0, i > near);
        for (std::int32_t i = 0; i < far; ++i) {
            weights();
            backward(0, true);
        }
        for (std::int32_t i = 0; i <= near; ++i) weights();
        INVARIANT(put_off_ == apart_.size());
        return std::move(passes_);
    }

private:
    std::int32_t stage_of(std::size_t way) const {
        const bool upwards = (way == 0) == (worker_ < spec_.workers / 2);
        return upwards ? worker_ : 2 * spec_.workers - 1 - worker_;
    }
    void forward(std::size_t way, bool beside_next = false) {
        passes_.push_back({true, stage_of(way), forward_[way]++, false, false, beside_next});
    }
    void forward_both() {
        forward(0);
        forward(1);
    }
    void backward(std::size_t way, bool apart) {
        passes_.push_back({false, stage_of(way), backward_[way]++, false, apart});
        if (apart) apart_.push_back(passes_.back());
    }
    void pair(std::size_t ahead, std::size_t back, bool beside) {
        forward(ahead, beside);
        backward(back, false);
    }
    void weights() {
        const PipelinePass& pass = apart_[put_off_++];
        passes_.push_back({false, pass.stage, pass.micro_batch, true});
    }

    const PipelineSpec& spec_;
    std::int32_t worker_;
    std::vector<PipelinePass> passes_;
    std::array<std::int32_t, 2> forward_{};  // so many passes of each way
    std::array<std::int32_t, 2> backward_{};
    std::vector<PipelinePass> apart_;
    std::size_t put_off_ = 0;  // of these, how many weights' passes there are
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
    if (spec.copies() > 1 && (spec.workers % 2 != 0 || spec.micro_batches % 2 != 0 ||
                              spec.micro_batches < 2 * std::int64_t{spec.workers})) {
        refuse(
            fmt::format("dual_pipe needs an even number of workers, and an even number of "
                        "micro-batches that is at least twice as large, found {} and {}",
                        spec.workers, spec.micro_batches));
    }
    if (std::int64_t{spec.workers} * spec.chunks > pipeline_passes_max / spec.micro_batches) {
        refuse(fmt::format("a pipeline has at most {} passes", pipeline_passes_max));
    }
}

std::vector<PipelinePass> pipeline_passes(const PipelineSpec& spec, std::int32_t worker) {
    if (spec.copies() > 1) return DualList(spec, worker).made();
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
        if (k >= warm_up) {
            passes.push_back(numbered(spec, worker, k - warm_up, false));
            passes.back().inputs = apart;
        }
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
