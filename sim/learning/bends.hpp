// bends.hpp — where a way of learning bends, for timelines: between two bends progress,
// metric and noise scale are drawn as straight lines.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/learning/learning_model.hpp"

namespace ukemi::sim {

// Numbers of steps from there, rising and below `most`. None of a model that really trains: it is
// looked at as often as it knows more.
std::vector<std::int64_t> bends(const LearningModel& model, const LearningState& from,
                                const LearningStep& step, std::int64_t most);

}  // namespace ukemi::sim
