// training_spec.hpp — what live workers train, as one value that travels to each of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/data_set.hpp"
#include "kernels/model.hpp"
#include "kernels/replica.hpp"
#include "kernels/training_step.hpp"

namespace ukemi {

struct TrainingSpec {
    DataSpec data;
    ModelSpec model;
    OptimiserSettings optimiser;
    StepSettings step;
    std::uint64_t seed = 0;
};

// JSON, for the control channel and for result files; text that is not such a spec is an
// InputError, and so is a path that is not UTF-8. Every key is written and must be there. Seeds are
// at most 2^63 − 1; a hidden layer is {"units": n}. Equal specs have equal texts.
std::string training_spec_text(const TrainingSpec& spec);
TrainingSpec training_spec_from(std::string_view text);

// 64 bits over the text: what a checkpoint remembers of the job it belongs to.
std::uint64_t job_identity(const TrainingSpec& spec);

}  // namespace ukemi
