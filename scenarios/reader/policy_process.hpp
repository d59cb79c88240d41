// policy_process.hpp — policies that stand in a Python file, asked in a process of their own.
//
// The process is `python3 -m ukemi.policy_process FILE` (UKEMI_PYTHON names another Python). It
// says which policies the file has; then each of them is in the registry like any other, in every
// command and in every world, and a question to one is a line to the process and a line back: JSON
// with the fields of decisions.jsonl. What a policy asks in turn (the Predictor, draws of its
// random stream) is answered here, so that it decides as it would in this process, and a log can be
// replayed.
//
// An exception of the policy, an answer that cannot be read and one that does not come within 5 s
// are an InputError with the policy, the hook and the scenario's time. The process ends with this
// one.
#pragma once

#include <filesystem>
#include <string_view>

namespace ukemi::scenarios {

// Once a file, however often it is asked for, and only where plug-ins are allowed. InputError
// ("PLACE: …") for a file that has no policies or cannot be run, and for a name that is taken.
void load_policy_file(const std::filesystem::path& file, std::string_view place);

}  // namespace ukemi::scenarios
