// typed_command.hpp — the command line that this program was started with, for results to name.
//
// As a shell takes it, so that it can be pasted. Results hold it besides what they are a function
// of: it is in no hash and in no folder's name, and nothing is read from it. What must stay secret
// is no argument of a command (a group's secret is in the environment).
#pragma once

#include <span>
#include <string>

namespace ukemi::analysis {

// Before anything is run; the program's own name as it was called.
void keep_typed_command(std::span<char* const> arguments);

// Empty where nobody typed one: in the Python module, and in tests of the library.
const std::string& typed_command();

}  // namespace ukemi::analysis
