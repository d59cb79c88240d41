// known_curves.hpp — step times that somebody measured, and what to take where nobody did.
//
// To add a measurement: one line in known_curves.cpp, with where it is from.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/cluster/cost_curve.hpp"

namespace ukemi::sim {

// Straight lines fitted to published step times.
struct MeasuredCurve {
    std::string_view model;
    std::string_view gpu;
    Precision precision = Precision::fp32;
    double fixed_s = 0;
    double seconds_a_sample = 0;
    std::string_view source;
};
std::span<const MeasuredCurve> measured_curves();

// The shares of a roofline, of which the arithmetic one was fitted so that ResNet-50 has the
// published rate at one batch; the memory one is 0.75 throughout (assumed). The time of a layer is
// that of ResNet-50 in fp32 at batch 0: in fp32 and tf32 every step takes it, in half precision
// none takes less (known_curves.cpp says why). Programs whose kernels are captured or compiled
// launch faster, and their small steps are shorter. GPUs without a published rate have the shares
// of the one that they are like (assumed); their source says so. A model that is not a
// convolutional network is off by up to a half (tests).
struct KnownShares {
    std::string_view gpu;
    Precision precision = Precision::fp32;
    RooflineShares shares;
    std::string_view source;
};
std::span<const KnownShares> known_shares();

struct KnownCurve {
    CostCurve curve;
    std::string source;
    bool measured = false;  // else a roofline
};
// The measured curve if there is one, else a roofline; throws InputError(WHERE …) if the GPU cannot
// compute at this precision. A roofline's update has so many values of the optimiser's a parameter.
KnownCurve curve_for(const ModelProfile& model, const GpuProfile& gpu, Precision precision,
                     std::string_view where, std::int64_t state_values = 1);

}  // namespace ukemi::sim
