// profile_predictor.hpp — the forecast that knows the job as the simulator does.
#pragma once

#include <memory>
#include <utility>

#include "policies/predictor_choice.hpp"

namespace ukemi::test {

inline std::unique_ptr<policies::Predictor> make_profile_predictor(policies::JobProfile profile) {
    return policies::make_predictor({}, std::move(profile), 0);
}

}  // namespace ukemi::test
