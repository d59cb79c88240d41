// read_step_codec.hpp — keys that say how a job's gradients are encoded.
#pragma once

#include <vector>

#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// "codec" and "codec_rates".
sim::StepCodec read_step_codec(ConfigReader& config);

// What the entry's codec makes of its buckets. Without rates, an operation moves one value of four
// bytes through the memory of the slowest kind of GPU, at three quarters of its rate.
void encode_gradients(const ConfigReader& config, const sim::ModelProfile& model,
                      StepJobEntry& entry);

// Buckets as they weigh on the all-reduce; as they are, if nothing does.
std::vector<sim::GradientBucket> reduced_parts(const sim::StepJob& job);

}  // namespace ukemi::scenarios
