// read_compute.hpp — "compute" of a job of steps: how long a GPU computes a micro-batch.
#pragma once

#include <optional>
#include <string>

#include "base/config_reader.hpp"
#include "sim/cluster/known_curves.hpp"

namespace ukemi::scenarios {

// One of five forms: `fixed` and `per_sample`, with a `floor` that small batches do not go below; a
// `table` of times by batch; a roofline at `arithmetic_share` and `memory_share` of a GPU's peaks;
// `costs`, a file of `ukemi calibrate`, whose steps of one worker it takes; or, without the
// section, a measured curve or a roofline with known shares.
class ComputeCurves {
public:
    explicit ComputeCurves(ConfigReader& job);

    // For this GPU, and where it is from. InputError if it cannot compute at this precision.
    sim::CostCurve curve(const sim::ModelProfile& model, const sim::GpuProfile& gpu,
                         sim::Precision precision, std::string& source) const;

private:
    std::string where_;
    std::optional<sim::CostCurve> given_;
    std::string given_source_;
    std::optional<sim::RooflineShares> shares_;
};

}  // namespace ukemi::scenarios
