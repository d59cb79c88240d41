// read_step_layout.hpp — keys that say how a job's model is cut over its workers.
#pragma once

#include <string>

#include "base/config_reader.hpp"
#include "sim/step/layout_plan.hpp"

namespace ukemi::scenarios {

// "layout" and "batch_norm" of a job with so many workers; the rest of the request is filled in by
// the caller. Whether the model can be cut so is for make_layout() to say.
sim::LayoutRequest read_step_layout(ConfigReader& job, std::int64_t workers);

// Of a key of plain jobs, beside a layout: `why` it is refused, unless nothing else is against it
// than what sending takes from computing.
[[noreturn]] void refuse_beside(const sim::LayoutRequest& layout, const ConfigReader& job,
                                const std::string& key, const std::string& why);

// "layout" as such a job has it, in JSON: what reads as this request.
std::string layout_text(const sim::LayoutRequest& request);

}  // namespace ukemi::scenarios
