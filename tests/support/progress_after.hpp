// progress_after.hpp — where so many equal steps lead a learning model.
#pragma once

#include "sim/learning/learning_model.hpp"

namespace ukemi::test {

inline std::int64_t progress_after(const sim::LearningModel& model, const sim::LearningState& from,
                                   std::int64_t steps, const sim::LearningStep& step) {
    return model.after(from, steps, step).progress;
}

}  // namespace ukemi::test
