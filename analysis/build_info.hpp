// build_info.hpp — what this binary was built from; written into every run.json.
#pragma once

#include <string>

namespace ukemi::analysis {

std::string build_version();      // "0.1.0"
std::string build_commit();       // as of the last configuration, or "unknown"
std::string build_description();  // for --version

}  // namespace ukemi::analysis
