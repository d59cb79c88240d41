// nccl_words.hpp — what NCCL picks for all that a job sends with it, in words.
#pragma once

#include <string>
#include <string_view>

#include "sim/cluster/topology.hpp"
#include "sim/step/step_job.hpp"

namespace ukemi::scenarios {

// By kind of group and collective, of the first of its kind: "ring/Simple for 3 messages up to 25
// MB; to gather: …; NVLink 3 at 0.781 of the line rate (source), …". Of tensor groups and of
// parameters, messages are those of a micro-batch. InputError as of nccl_place().
std::string nccl_words(const sim::Topology& topology, const sim::StepJob& job,
                       std::string_view where);

}  // namespace ukemi::scenarios
