// scenario_keys.hpp — every key that a scenario may have, found by reading examples
// (base/key_notes.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/key_notes.hpp"

namespace ukemi::scenarios {

std::vector<KeyNote> scenario_keys(std::span<const std::string> examples);
std::vector<KeyNote> step_scenario_keys(std::span<const std::string> examples);
std::vector<KeyNote> schedule_scenario_keys(std::span<const std::string> examples);
std::vector<KeyNote> search_scenario_keys(std::span<const std::string> examples);

}  // namespace ukemi::scenarios
