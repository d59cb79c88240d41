// read_compute.hpp — "compute" of a job of steps: how long a GPU computes a micro-batch.
#pragma once

#include <optional>
#include <string>

#include "base/config_reader.hpp"
#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/known_curves.hpp"

namespace ukemi::scenarios {

// A key of a table by batch.
std::int64_t batch_of_key(const ConfigReader& table, const std::string& key);

// One of six forms: `fixed` and `per_sample`, with a `floor` that small batches do not go below; a
// `table` of times by batch; a roofline at `arithmetic_share` and `memory_share` of a GPU's peaks;
// `costs`, a file of `ukemi calibrate`, whose steps of one worker it takes; `kernels`, one by one
// (kernel_time.hpp), with other rates than the known ones; or, without the section, a measured
// curve or a roofline with known shares.
class ComputeCurves {
public:
    // Where the section is missing, a transformer of one's own is timed kernel by kernel. A model
    // whose steps were measured takes no section. A table of one batch is for that batch.
    ComputeCurves(ConfigReader& job, const sim::ModelProfile& model, std::int64_t batch);

    // For this GPU, and where it is from. InputError if it cannot compute at this precision.
    // The update has so many values of the optimiser's a parameter.
    sim::CostCurve curve(const sim::ModelProfile& model, const sim::GpuProfile& gpu,
                         sim::Precision precision, std::int64_t state_values,
                         std::string& source) const;

    // Not none where kernels are timed one by one.
    std::optional<sim::KernelClock> kernels(const sim::GpuProfile& gpu, sim::Precision precision,
                                            std::string& source) const;

private:
    struct KernelKeys {  // 0: as known
        double product_share = 0;
        double eight_bit_share = 0;
        double memory_share = 0;
        std::optional<double> launch_s;
        std::string attention;  // a program of flash attention; empty: the best known
    };
    KernelKeys read_kernels(ConfigReader config);

    std::string where_;
    bool flash_ = false;  // of the model's attention
    std::string eight_bits_where_;
    std::string attention_where_;  // the key
    std::optional<sim::CostCurve> given_;
    std::string given_source_;
    std::optional<sim::RooflineShares> shares_;
    std::optional<KernelKeys> kernels_;
};

}  // namespace ukemi::scenarios
