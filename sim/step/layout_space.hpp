// layout_space.hpp — every layout that a number of workers can have for a step of so many samples.
//
// Data × tensor × pipeline degrees that divide workers, heads, hidden size and samples, and whose
// stages can have as many blocks each (stage_blocks()); the samples of a micro-batch; blocks
// computed again or not; one_forward_one_backward, gpipe, and interleaved with every number of
// chunks. Where the request has zero_bubble, which not every program can play, it takes the place
// of the first; where it has dual_pipe, zero_bubble does, and dual_pipe is one more where it can
// be. A model that is no transformer has micro-batches only. On request, also every context degree
// that divides the rest of the workers and a sample's tokens, everything that replicas can divide,
// every number of ranks that can divide the experts (cut by tensor groups, and whole where tokens
// are divided by these), and every number of a stage's blocks that are computed again. What is for
// tensor groups is left out where there are none; of blocks computed again a stage has at most its
// own.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/step/layout_plan.hpp"

namespace ukemi::sim {

struct LayoutDimensions {  // that are the request's own unless they are asked for
    bool context = false;
    bool shard = false;
    bool expert = false;
    bool recompute = false;
};

// The rest of each request is that of `like`, whose batch × micro-batches × replicas are the
// samples of a step. Degrees, then micro-batches ascend; make_layout() takes all of them.
std::vector<LayoutRequest> all_layouts(const ModelProfile& model, const LayoutRequest& like,
                                       std::int64_t workers, LayoutDimensions wide = {});

}  // namespace ukemi::sim
