// parameter_notes.hpp — the parameters that a policy reads, found by letting it read
// (base/key_notes.hpp).
#pragma once

#include <vector>

#include "base/key_notes.hpp"
#include "policies/registry.hpp"

namespace ukemi::policies {

// By path, such as "/interval".
std::vector<KeyNote> parameters_of(const PolicyEntry& entry);

}  // namespace ukemi::policies
