// layer_workload.hpp — the layers of a training loop as text: ASTRA-sim 1.0's workload, and SimAI's
// (AICB), which is the same with groups in its first line.
//
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 ga: 1 all_gpus: 16 …
//   2
//   attention  -1  875420 ALLREDUCE 50331648  875420 ALLREDUCE 50331648  1 NONE 0  100
//
// The first line names the parallelism; the second counts the layers; each layer is a name, a
// number that nobody uses, then thrice (forward, gradient of the input, gradient of the weights) a
// time in cycles of 1 ns, a collective and its bytes, and the time of an update after the last.
// (github astra-sim/astra-sim, inputs/workload/ASTRA-sim-1.0/README.md; aliyun/SimAI, docs.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/step/workload.hpp"

namespace ukemi::scenarios {

inline constexpr std::size_t layer_text_bytes_max = std::size_t{64} << 20;
inline constexpr std::int64_t layers_max = 100'000;

// Whether the text begins like one.
bool is_layer_workload(std::string_view text);

// What each of `ranks` ranks does in one iteration: layer by layer forward, each waiting for its
// collective, then back; weights' collectives run beside what follows, and are over before the end.
// Collectives of forward passes and inputs are of the tensor group (r / t), those of weights of its
// replicas (r mod t); names that end in _EP and _DP_EP are of the expert group within the replicas,
// and of those who hold the same experts. In DATA all are of all ranks. Bytes are those of the
// whole buffer, which an all-gather ends with. InputError with file, line and column: what was
// expected and found; also for pipelines (pp above 1), which are not played.
sim::Workload parse_layer_workload(std::string_view text, std::string_view file,
                                   std::int64_t ranks);

}  // namespace ukemi::scenarios
