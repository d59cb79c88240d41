// parameter_gathers.hpp — parameters that are divided among the replicas of a pipeline rank, and
// brought together unit by unit (a transformer's block) just before they are needed.
//
// All replicas compute the same units in the same order, and gather them in it, one after another.
// A replica that has come to a unit, its unit before being over, asks for it and for `prefetch`
// more; a gather begins when all have asked for it and the one before has ended. So a replica never
// holds more than prefetch + 1 units whole. With 1 that is what PyTorch's FSDP does: two gathered
// parameters are alive at once (its notes on limit_all_gathers and on prefetching).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/step/layout_work.hpp"

namespace ukemi::sim {

class ParameterGathers {
public:
    // Of a step: what each replica brings of each unit, in the order in which they are needed.
    ParameterGathers(std::vector<DividedPart> parts, std::int32_t replicas, std::int32_t prefetch);

    void begin_step();
    void come_to(std::size_t unit);     // one of the replicas, which comes to one after another
    std::optional<DividedPart> take();  // a gather that may begin, and is then under way
    void arrived();                     // the one under way
    bool is_there(std::size_t unit) const { return unit < arrived_; }

private:
    std::vector<DividedPart> parts_;
    std::int32_t replicas_;
    std::size_t prefetch_;
    std::vector<std::int32_t> asked_;  // by unit: how many replicas
    std::size_t arrived_ = 0;          // units
    bool under_way_ = false;
};

}  // namespace ukemi::sim
