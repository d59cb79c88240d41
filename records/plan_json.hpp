// plan_json.hpp — Plans, Decisions and Observations as JSON and back, exactly.
//
// Integers are written as integers with their unit in the key; doubles in the shortest form that
// reads back equal; enumerators by name. What is zero or empty is left out of an Observation and a
// Decision, so that a log stays readable. Reading refuses anything it does not know with
// std::invalid_argument and says which key; the caller adds file and line.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "policies/capabilities.hpp"
#include "policies/decision.hpp"
#include "policies/job_profile.hpp"
#include "policies/observation.hpp"
#include "policies/policy.hpp"

namespace ukemi::records {

nlohmann::json to_json(const policies::Plan& plan);
nlohmann::json to_json(const policies::Decision& decision);
nlohmann::json to_json(const policies::Observation& seen);
nlohmann::json to_json(const policies::Capabilities& capabilities);
nlohmann::json to_json(const policies::JobProfile& profile);

policies::Plan plan_from(const nlohmann::json& json);
policies::Observation observation_from(const nlohmann::json& json);
// All but the reason, which is text that somebody must keep.
policies::Decision decision_from(const nlohmann::json& json);
policies::Capabilities capabilities_from(const nlohmann::json& json);
policies::JobProfile profile_from(const nlohmann::json& json);
policies::ControlEvent control_event_from(const nlohmann::json& json);

}  // namespace ukemi::records
