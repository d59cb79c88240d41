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

namespace ukemi {

nlohmann::json to_json(const Plan& plan);
nlohmann::json to_json(const Decision& decision);
nlohmann::json to_json(const Observation& seen);
nlohmann::json to_json(const Capabilities& capabilities);
nlohmann::json to_json(const JobProfile& profile);

Plan plan_from(const nlohmann::json& json);
Observation observation_from(const nlohmann::json& json);
Capabilities capabilities_from(const nlohmann::json& json);
JobProfile profile_from(const nlohmann::json& json);
ControlEvent control_event_from(const nlohmann::json& json);

}  // namespace ukemi
