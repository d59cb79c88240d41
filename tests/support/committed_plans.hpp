// committed_plans.hpp — the Plans that a run committed, read back from its decisions.jsonl.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ukemi::test {

// In order, as JSON without their versions, so that two runs can be compared. The text is that of a
// DecisionLog; anything else is an error of the JSON reader.
std::vector<std::string> committed_plans(std::string_view decisions);

}  // namespace ukemi::test
