// pipeline.hpp — a step of a model cut into stages: who computes which micro-batch when.
//
// Every worker computes its list of passes in order, each as soon as what it needs has arrived:
//   gpipe        all forward passes, then all backward ones (Huang et al., NeurIPS 2019)
//   one_forward_one_backward   after a warm-up, one of each in turn: as long, but at most as many
//                micro-batches as stages are kept (Narayanan et al., SC 2021, section 2.2.1)
//   interleaved  each worker has `chunks` stages, p apart (section 2.2.2)
//   zero_bubble  the gradients of weights are a pass of their own, which nobody waits for; worker i
//                puts it off for i micro-batches and fills its waiting with it. As many are kept as
//                the first worker of one_forward_one_backward keeps (ZB-H1: Qi et al. 2023, 2.1)
//   dual_pipe    half of the micro-batches go through the model the other way round, so each worker
//                has two stages, as far from the model's begin as from its end, and every stage two
//                workers; forward and backward passes of the two ways are computed side by side,
//                so that one computes while the other sends (DeepSeek-V3's report, 2024, 3.2.1)
// Without transfers the bubble is (p − 1)/m of the ideal time, interleaved (p − 1)/(v m),
// zero_bubble p − 1 times a forward and a backward pass less one of weights, dual_pipe p/2 − 1
// times a pair and a backward pass less three of weights, where forward, inputs' and weights'
// passes take as long; tests hold the lists to that.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::sim {

enum class PipelineKind : std::uint8_t {
    gpipe,
    one_forward_one_backward,
    interleaved,
    zero_bubble,
    dual_pipe
};
inline constexpr std::array<std::string_view, 5> pipeline_kind_names = {
    "gpipe", "one_forward_one_backward", "interleaved", "zero_bubble", "dual_pipe"};

struct PipelineSpec {
    PipelineKind kind = PipelineKind::one_forward_one_backward;
    std::int32_t workers = 1;        // p
    std::int32_t micro_batches = 1;  // m
    std::int32_t chunks = 1;         // v: stages of each worker, of interleaved

    // How many workers have each part of the model, and as many ways lead through it.
    std::int32_t copies() const { return kind == PipelineKind::dual_pipe ? 2 : 1; }
    // Numbered along the first way, then along the second.
    std::int32_t stages() const { return workers * chunks * copies(); }
    std::int32_t worker_of(std::int32_t stage) const {
        const bool second = copies() > 1 && stage >= workers;
        return second ? 2 * workers - 1 - stage : stage % workers;
    }
    bool is_first(std::int32_t stage) const {
        return stage == 0 || (copies() > 1 && stage == workers);
    }
    bool is_last(std::int32_t stage) const {
        return stage == stages() - 1 || (copies() > 1 && stage == workers - 1);
    }
    std::int32_t micro_batches_a_way() const { return micro_batches / copies(); }
};

inline constexpr std::int64_t pipeline_passes_max = 10'000'000;

// One micro-batch on one stage.
struct PipelinePass {
    bool forward = true;
    std::int32_t stage = 0;        // of PipelineSpec::stages()
    std::int32_t micro_batch = 0;  // of its way
    bool weights = false;          // of a backward pass, the gradients of weights alone
    bool inputs = false;           // of a backward pass, all but these
    bool beside_next = false;      // side by side with the next one
};

// InputError(WHERE …) if a number is below 1, if only interleaved has chunks and this is another,
// if interleaved's micro-batches are no multiple of its workers, if dual_pipe's workers or
// micro-batches are odd or these fewer than twice those, or if there are too many passes.
void check_pipeline(const PipelineSpec& spec, std::string_view where);
// In the order in which a worker computes them; the spec must be right.
std::vector<PipelinePass> pipeline_passes(const PipelineSpec& spec, std::int32_t worker);

// What tensor parallelism sends: two all-reduces of the activations a layer in the forward pass,
// two in the backward pass (Shoeybi et al. 2019, section 3).
struct TensorParallelTraffic {
    std::int64_t all_reduces = 0;  // of a micro-batch
    Bytes each;
};
TensorParallelTraffic tensor_parallel_traffic(std::int64_t layers, std::int64_t batch,
                                              std::int64_t sequence, std::int64_t hidden,
                                              std::int64_t bytes_per_value);

}  // namespace ukemi::sim
