// read_step_layout.hpp — keys that say how a job's model is cut over its workers.
#pragma once

#include <string>

#include "base/config_reader.hpp"
#include "sim/step/layout_plan.hpp"

namespace ukemi::scenarios {

// "layout" and "batch_norm" of a job with so many workers; the rest of the request is filled in by
// the caller. Whether the model can be cut so is for make_layout() to say.
sim::LayoutRequest read_step_layout(ConfigReader& job, std::int64_t workers);

// "layout" as such a job has it, in JSON: what reads as this request.
std::string layout_text(const sim::LayoutRequest& request);

}  // namespace ukemi::scenarios
