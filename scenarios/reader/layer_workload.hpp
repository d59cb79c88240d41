// layer_workload.hpp — the layers of a training loop as text: ASTRA-sim 1.0's workload, and SimAI's
// (AICB), which is the same with groups in its first line.
//
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 ga: 1 all_gpus: 16 …
//   2
//   attention  -1  875420 ALLREDUCE 50331648  875420 ALLREDUCE 50331648  1 NONE 0  100
//
// The first line names the kind of loop; the second counts the layers; each layer is a name, a
// number that nobody uses, then thrice (forward, gradient of the input, gradient of the weights) a
// time in cycles of 1 ns, a collective and its bytes, and the time of an update after the last.
// (github astra-sim/astra-sim, inputs/workload/ASTRA-sim-1.0/README.md; aliyun/SimAI, docs.)
//
// The kinds of loop, as ASTRA-sim 1.0 plays them (its Workload.cc; of MICRO Chakra's text
// converter):
//   DATA                 gradients of weights, of all ranks, are all that is sent; computed before
//                        those of inputs, which the first layer has none of
//   MODEL                the others are, of all ranks
//   HYBRID_DATA_MODEL    the others within the first dimension of the network, those of weights
//                        along all other dimensions
//   HYBRID_MODEL_DATA    the other way round
//   HYBRID_TRANSFORMER   the others within groups of model_parallel_NPU_group:, those of weights
//                        among their replicas; so does HYBRID_TRANSFORMER_FWD_IN_BCKWD, which has
//                        `checkpoints: N` layers (counted from 0) behind which activations are
//                        kept, and `checkpoint_initiates: N` before whose backward pass the layers
//                        from the nearest checkpoint up to them go forward again
//   MICRO                collectives of weights alone, and no times
//
// Bytes are of the whole buffer; of an all-gather what each rank brings (ASTRA-sim: Ring.cc, and
// Chakra), and only where the first line has a word of SimAI's (ep:, pp:, vpp:, ga:, all_gpus:,
// mode:, pp_comm:) the buffer that it ends with (SimAI: MockNcclGroup.cc divides it by the ranks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/step/workload.hpp"

namespace ukemi::scenarios {

inline constexpr std::size_t layer_text_bytes_max = std::size_t{64} << 20;
inline constexpr std::int64_t layers_max = 100'000;

// Whether it is one, or was meant to be: text that is no JSON. (Chakra's messages begin with
// control bytes: the length of the first, or the number of its first field.)
bool is_layer_workload(std::string_view text);

// What each of `ranks` ranks does in one iteration: layer by layer forward, each waiting for its
// collective, then back; weights' collectives run beside what follows, and are over before the end.
// Those of inputs' gradients are waited for at once in HYBRID_TRANSFORMER, elsewhere after the
// layer's gradients of weights; and elsewhere the first layer's is not sent.
// Collectives of forward passes and inputs are of the tensor group (r / t), those of weights of its
// replicas (r mod t), in HYBRID_MODEL_DATA r mod d and r / d with d replicas; names that end in _EP
// and _DP_EP are of the expert group within the replicas, and of those who hold the same experts.
// `first_dimension` of the network says the groups where model_parallel_NPU_group: does not; 0: it
// is not known. InputError with file, line and column: what was expected and found; also for a
// collective that the loop does not send, degrees that do not divide the ranks, pipelines (pp above
// 1), which are not played, unknown words of the first line, and layers to go forward again without
// a checkpoint before them, or with another that initiates in between.
sim::Workload parse_layer_workload(std::string_view text, std::string_view file, std::int64_t ranks,
                                   std::int64_t first_dimension = 0);

}  // namespace ukemi::scenarios
