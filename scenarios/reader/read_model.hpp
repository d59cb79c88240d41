// read_model.hpp — "model" of a job of steps: the name of a known one, or a model of one's own.
#pragma once

#include "base/config_reader.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::scenarios {

// A name, or an object whose `kind` says how the model is described:
//   transformer  `layers`, `hidden`, `heads`, `vocabulary`, `sequence`, and where they differ from
//                GPT-2's `kv_heads`, `feed_forward`, `gated`, `flash_attention`, `positions` and
//                `tied_embedding`
//   layers       a list of `layers` of an image network, one after another, from an `input` of
//                channels, height and width
//   counted      `parameters`, `tensors` and `forward_flops` of a sample, in equal parts
//   profiled     `traces` of PyTorch's profiler by batch (profiler_trace.hpp): gradients, how long
//   a
//                step takes, and when in it each gradient is ready, as the trace of the batch that
//                is nearest to the job's says
sim::ModelProfile read_model(ConfigReader& job, std::int64_t batch);

}  // namespace ukemi::scenarios
