// read_step_codec.hpp — keys that say how a job's gradients are encoded.
#pragma once

#include <vector>

#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// "codec" and "codec_rates".
sim::StepCodec read_step_codec(ConfigReader& config);

// Refuses a codec beside a layout with which gradients are not whole or not alone.
void expect_codec_fits_layout(const ConfigReader& config, const StepJobEntry& entry);

// What the entry's codec makes of its buckets. Without rates, encoding and decoding take the
// kernels of the kind of GPU whose memory is slowest (sim/step/codec_kernels.hpp).
void encode_gradients(const ConfigReader& config, const sim::ModelProfile& model,
                      StepJobEntry& entry);

// What the buckets of a model that is not cut send on a lane (sim/step/codec_plan.hpp); empty, if
// nothing.
std::vector<sim::GradientBucket> parts_on(const sim::StepJob& job, std::uint32_t lane);

}  // namespace ukemi::scenarios
