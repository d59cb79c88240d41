// simulated_steps.hpp — how long a replayed job's steps take, out of a scenario of steps.
//
// A replay needs a time for every number of machines and every batch; a scenario of steps
// (step_scenario.hpp) says where one of them goes. Here its one job is run at each of some batches
// on the first 1, 2, … of its machines, so that what hides behind what, which links are shared and
// which collective is cheapest are found anew for each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "policies/codec_text.hpp"
#include "policies/step_time.hpp"

namespace ukemi::sim {
struct JobSteps;
}

namespace ukemi::scenarios {

// Of the steps after the first so many.
Duration mean_of_steps(const sim::JobSteps& result, std::int64_t warm_up);

// For 1 to `machines` machines (each up to 16, then in steps of an eighth; in between is
// interpolated). `batches` are those of one GPU, ascending. Of the result, batches are those of one
// machine with all its GPUs; times are means over the scenario's steps after its warm-up, and never
// fall with the batch; computing is that of the slowest kind of GPU among so many machines.
// InputError of the file if it has several jobs, accumulates gradients (which is the Plan's to
// say), cuts the model, has a codec, validation, events or asynchronous workers, says on which
// machines the job runs or gives its servers machines of their own, or has too few machines, or
// not as many GPUs on each; or if a batch does not fit on its GPU.
policies::StepTime simulated_steps(const std::filesystem::path& file,
                                   std::span<const std::int64_t> batches, std::int32_t machines);

// What adds up the gradients of its first job on all its machines, in words: "nccl (as usual …)".
std::string simulated_exchange(const std::filesystem::path& file);
// Whether that job has a layout, whose ranks send to each other in each micro-step.
bool simulated_in_layout(const std::filesystem::path& file);

// The same with so many learners on each GPU, of each of which `batches` are; those that do not fit
// so often on it are left out. InputError as above, or if not even the first does.
policies::LearnerSteps simulated_learners(const std::filesystem::path& file,
                                          std::span<const std::int64_t> batches,
                                          std::int32_t machines, std::int32_t learners);

// The same steps with a codec, whose level is one that it has: whole steps of groups, what encoding
// and decoding take among the fewest machines that send (what decoding takes longer among more
// counts as communication), and bytes. No relative error: nothing simulated says it. InputError as
// above, and if the file's job cannot be encoded.
policies::CodecTime simulated_codec(const std::filesystem::path& file,
                                    std::span<const std::int64_t> batches, std::int32_t machines,
                                    const policies::CodecChoice& choice);

}  // namespace ukemi::scenarios
