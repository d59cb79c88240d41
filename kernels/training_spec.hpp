// training_spec.hpp — what live workers train, as one value that travels to each of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/config_reader.hpp"
#include "kernels/data_set.hpp"
#include "kernels/model.hpp"
#include "kernels/replica.hpp"
#include "kernels/training_step.hpp"
#include "policies/plan.hpp"

namespace ukemi::kernels {

struct TrainingSpec {
    // Of a script, model, data and optimiser are what it makes in the worker (PyTorch), and those
    // here say nothing. Empty: they are ours.
    std::filesystem::path script;
    DataSpec data;
    ModelSpec model;
    OptimiserSettings optimiser;
    StepSettings step;
    std::uint64_t seed = 0;
};

// The keys of a scenario's "training" that say what is trained, each with its default: "data" (its
// files beside `folder`), "model", "optimiser", "bucket", "launch", "noise_smoothing" and
// "error_feedback"; or "script" (beside `folder`), "bucket", "noise_smoothing" and
// "error_feedback". Other keys and the seeds are the caller's. What no worker could build is
// refused.
TrainingSpec read_training_spec(ConfigReader& training, const std::filesystem::path& folder);

// JSON, for the control channel and for result files: the same keys, and "seed" and "step_seed"
// (at most 2^63 − 1). Text that is not such a spec is an InputError, and so is a path that is not
// UTF-8. Every key is written and must be there. Equal specs have equal texts.
std::string training_spec_text(const TrainingSpec& spec);
TrainingSpec training_spec_from(std::string_view text);

// Why the workers that such a spec asks for cannot take a step under this Plan: training_refusal,
// and for a script what PyTorch's workers cannot do; empty if they can.
std::string step_refusal(const TrainingSpec& spec, const policies::Plan& plan, int workers);

// 64 bits over the text: what a checkpoint remembers of the job it belongs to.
std::uint64_t job_identity(const TrainingSpec& spec);

}  // namespace ukemi::kernels
