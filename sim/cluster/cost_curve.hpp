// cost_curve.hpp — how long one step of one GPU computes, by its batch.
//
// Four forms: affine (a + b m), affine with a floor (small batches take as long as the machine
// takes to launch them), a measured table (straight between its points; beyond the last as between
// the last two; below the first as at the first), and a roofline over the layers of a model. Only
// + − × ÷ are used, so that times are equal on every machine. Communication is not in it.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

// What a step reaches of a GPU's peaks: fitted to something measured, and its source says to what.
struct RooflineShares {
    double arithmetic = 0.5;     // of the peak FLOP/s, above 0, at most 1
    double memory = 0.8;         // of the memory bandwidth, above 0, at most 1
    double seconds_a_layer = 0;  // what a layer takes whatever the batch, forward and backward
    // To launch it, both ways, ahead of the device: no step takes less, and longer ones no more.
    double launch_s_a_layer = 0;
    double wide_arithmetic = 0;  // of the bf16 peak by what fp8 leaves in bf16; 0: as `arithmetic`
};

class CostCurve {
public:
    struct Point {
        std::int64_t batch = 0;
        double seconds = 0;
    };

    // Each throws InputError(WHERE …) if a number is negative or not finite, if no step could take
    // any time, or if a table's batches do not rise or its times are not above 0.
    static CostCurve affine(double fixed_s, double seconds_a_sample, std::string_view where);
    static CostCurve floored(double floor_s, double fixed_s, double seconds_a_sample,
                             std::string_view where);
    static CostCurve table(std::vector<Point> points, std::string_view where);
    // Per layer max(arithmetic, memory) for the forward pass, twice that for the backward pass, and
    // what that computes again; arithmetic in fp32 with the savings of minimal filtering
    // (model_profile.hpp), in fp8 at bf16's peak what stays so (Paleo: Qi et al., ICLR 2017), plus
    // one update that reads each gradient, and reads and writes each weight and `state_values`
    // values of the optimiser, one with momentum. Before the update no step takes less than
    // launching its layers does. Of a model whose layers stand for tensors nothing is launched.
    // Throws if the GPU cannot compute at this precision.
    static CostCurve roofline(const ModelProfile& model, const GpuProfile& gpu, Precision precision,
                              const RooflineShares& shares, std::string_view where,
                              std::int64_t state_values = 1);

    double step_seconds(std::int64_t batch) const;  // batch ≥ 1
    Duration step_time(std::int64_t batch) const;   // rounded up to a nanosecond, at least one
    double samples_per_second(std::int64_t batch) const;
    double update_seconds() const;  // of a roofline: how much of a step is the update; else 0
    // What a step takes of the device: all but what it takes whatever the batch. Of a roofline, all
    // but what its layers take at batch 0 or to launch; of a table, as much as its last two points'
    // line grows from batch 0. Nothing of a table of one point: `has_device_seconds` says whether
    // it is known.
    double device_seconds(std::int64_t batch) const;
    bool has_device_seconds() const;

private:
    struct Affine {
        double floor_s = 0;
        double fixed_s = 0;
        double seconds_a_sample = 0;
    };
    struct Table {
        std::vector<Point> points;
    };
    struct Roofline {
        struct Layer {
            double compute_s = 0;  // of one sample
            double again_s = 0;    // of one sample, backward beyond twice the forward's
            double traffic_s = 0;  // of one sample
            double weights_s = 0;  // whatever the batch
        };
        std::vector<Layer> layers;
        double fixed_s = 0;
        double update_s = 0;                 // of these
        double floor_s = 0;                  // with the update
        double seconds(double batch) const;  // without the floor
    };
    using Form = std::variant<Affine, Table, Roofline>;
    explicit CostCurve(Form form) : form_(std::move(form)) {}

    Form form_;
};

// Bytes of a value at this precision: 4, or 2.
std::int64_t value_bytes(Precision precision);

}  // namespace ukemi::sim
