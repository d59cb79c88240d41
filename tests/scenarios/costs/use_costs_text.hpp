// use_costs_text.hpp — any text at all as a calibration: read, written again, and made use of.
//
// For the fuzzer, and for the test that what the fuzzer begins with is taken.
#pragma once

#include <string_view>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "runtime/calibration.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi {

// A job that says nothing of its training takes any costs for its profile.
inline const scenarios::Scenario& job_of_any_training() {
    static const scenarios::Scenario scenario = scenarios::scenario_from_text(R"({
        "name": "x", "seed": 1,
        "job": {"samples": 100000, "batch_per_worker": 32, "throughput": {"1": "100 samples/s"},
                "checkpoint": {"cost": "1 s", "restore": "1 s"}},
        "cluster": {"count_min": 1, "count_max": 2},
        "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
        "replay": ["on_demand"]})",
                                                                              "x.json");
    return scenario;
}

inline void use_costs(const scenarios::LiveCosts& costs) {
    const std::string written = scenarios::costs_json(costs);
    INVARIANT(scenarios::costs_json(scenarios::costs_from_text(written, "again")) == written);
    costs.least_law();
    for (const auto& [name, times] : scenarios::change_times(costs)) INVARIANT(!name.empty());
    for (const double time_scale : {1.0, 1e4}) {
        try {
            const policies::JobProfile profile =
                scenarios::measured_profile(costs, job_of_any_training(), time_scale, "fuzz", "");
            INVARIANT(!profile.throughput.empty());
        } catch (const InputError&) {  // it says nothing about this job's steps
        }
    }
}

// False if it was refused.
inline bool use_costs_text(std::string_view text) {
    scenarios::LiveCosts costs;
    try {
        costs = scenarios::costs_from_text(text, "fuzz");
    } catch (const InputError&) {  // the only way to refuse
        return false;
    }
    use_costs(costs);
    return true;
}

}  // namespace ukemi
