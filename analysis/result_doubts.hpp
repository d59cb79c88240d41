// result_doubts.hpp — what makes results mean less than they seem to: a line each, for stderr and
// for the `warnings` of result files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "records/run_result.hpp"

namespace ukemi::analysis {

// What was said of the markets of the runs, each once; and what the results themselves show:
// policies that finish nothing or are always late, that save nothing and lose work, that all come
// out the same; keys that are varied for nothing.
std::vector<std::string> warnings_about(std::span<const records::RunResult> results);

// Prints each on stderr; with `strict` throws an InputError about them instead.
void warn(std::span<const std::string> warnings, bool strict);

}  // namespace ukemi::analysis
