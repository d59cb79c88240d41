// timeline.hpp — one run as a table over time: a row whenever something that it shows changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "policies/observation.hpp"

namespace ukemi::records {

struct TimelineRow {
    Instant at;
    policies::JobPhase phase = policies::JobPhase::waiting;
    std::int32_t spot_held = 0;
    std::int32_t on_demand_held = 0;
    std::int32_t workers = 0;
    std::int32_t spot_capacity = 0;
    Price spot_price;  // of the first zone
    std::int64_t samples_done = 0;
    Dollars spent;
    std::int64_t spot_losses = 0;                               // so far
    std::optional<policies::TransitionPhase> transition_phase;  // where phases are told apart
    std::optional<double> loss;         // of the last step, where a model learns
    std::optional<std::int64_t> batch;  // samples of a step, where policies may turn it
    std::optional<double> learned;      // share of the way to the target, where that is modelled
    std::optional<double> accuracy;     // of the same, from 0 to 1
    std::optional<double> noise_scale;  // of the gradient, in samples, where a model measures it
    std::optional<std::pair<Price, Price>> spot_prices;  // lowest, highest, of several zones
    friend bool operator==(const TimelineRow&, const TimelineRow&) = default;
};

using Timeline = std::vector<TimelineRow>;

// The columns loss and accuracy are there if any row has one of them, batch and learned if any row
// has one of those; noise_scale, transition_phase and the lowest and highest price if any row has
// one. An empty cell says that the row has none.
std::string to_csv(const Timeline& timeline, std::int64_t samples_total);
std::string_view job_phase_name(policies::JobPhase phase);

}  // namespace ukemi::records
