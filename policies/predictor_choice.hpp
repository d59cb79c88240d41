// predictor_choice.hpp — which Predictor a job's policies ask, and how far off it is.
//
// `exact` says what the profile says: in a simulation that is the truth. `disturbed` is off by
// given shares, so that one sees what a policy is worth whose forecast is wrong. `calibrated`
// starts from a profile that need not be true and corrects it by what it observes; a real job can
// have no other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "policies/job_profile.hpp"
#include "policies/predictor.hpp"

namespace ukemi::policies {

enum class PredictorKind : std::uint8_t { exact, disturbed, calibrated };
inline constexpr std::array<std::string_view, 3> predictor_kind_names{"exact", "disturbed",
                                                                      "calibrated"};

struct PredictorChoice {
    PredictorKind kind = PredictorKind::exact;
    // What is expected, as a share of what the profile says. Not looked at by `exact`.
    double step_time = 1;
    double transition_time = 1;  // of restoring, too
    double checkpoint_time = 1;
    // Each is off by one more factor, drawn once a run from the stream "predictor": lognormal with
    // median 1, and this is the standard deviation of its logarithm.
    double spread = 0;
};
inline constexpr double predictor_share_min = 0.01;
inline constexpr double predictor_share_max = 100;
inline constexpr double predictor_spread_max = 1;

inline std::string_view name_of(PredictorKind kind) {
    return predictor_kind_names[static_cast<std::size_t>(kind)];
}

// The seed is the run's; only a spread looks at it.
std::unique_ptr<Predictor> make_predictor(const PredictorChoice& choice, JobProfile profile,
                                          std::uint64_t seed);

}  // namespace ukemi::policies
