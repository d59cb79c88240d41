// idle_variation.hpp — which keys somebody varied for nothing: every result is the same whatever
// the key's value, as where a policy decides what the key would.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "records/run_result.hpp"

namespace ukemi::analysis {

// Pointers of the keys, in the order of the first run that has them. Runs are compared with those
// that differ from them in this key alone: time, cost, and what was done and learned.
std::vector<std::string> keys_without_effect(std::span<const records::RunResult> results);

}  // namespace ukemi::analysis
