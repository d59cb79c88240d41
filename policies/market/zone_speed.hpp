// zone_speed.hpp — how fast the job trains where its machines are, and would be on on-demand.
//
// A zone has a speed relative to the job's profile, and a group is as fast as the slowest of its
// zones. Deadline rules reckon with the speed of the zone that on-demand would be bought in, since
// that is where the rest of the work is done when the safety net catches.
#pragma once

#include <cstdint>

#include "policies/policy.hpp"

namespace ukemi::policies {

// Of on-demand where it would be bought: as the view says, else the slowest of the Plan's zones.
// There more than the profile's speed is not counted on: what workers send gets no faster.
std::int32_t on_demand_speed_per_mille(const PolicyView& view);

// Of the slowest zone that holds machines of ours; without any, of the slowest zone of the Plan.
std::int32_t group_speed_per_mille(const PolicyView& view);

// The view's Predictor for workers of that speed.
class PredictorAtSpeed final : public Predictor {
public:
    PredictorAtSpeed(const Predictor& here, std::int32_t speed_per_mille);
    Duration work_time(std::int64_t samples, const Plan& plan, std::int32_t workers) const override;
    Duration transition_time(const Plan& from, const Plan& to) const override {
        return here_.transition_time(from, to);
    }
    Duration checkpoint_time(const Plan& plan) const override {
        return here_.checkpoint_time(plan);
    }
    Duration restore_time(const Plan& plan) const override { return here_.restore_time(plan); }
    bool loses_work() const override { return here_.loses_work(); }
    std::vector<Layout> layouts() const override { return here_.layouts(); }
    void observe(const Observation&, const Plan&) override {}  // the owner of `here` does that

private:
    const Predictor& here_;
    std::int32_t speed_per_mille_;
};

}  // namespace ukemi::policies
