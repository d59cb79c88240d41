// fitted_scenarios.hpp — what `ukemi fit --learning` finds, as scenarios that `ukemi compare`
// takes.
#pragma once

#include <filesystem>

namespace ukemi::cli {

// Into `folder`: pollux_MODEL.json of each recorded model in pollux/traces of `data` that has runs
// at two batches and step times, and goyal.json. InputError for a file that is there already,
// unless `force`.
void write_fitted_scenarios(const std::filesystem::path& data, const std::filesystem::path& folder,
                            bool force);

}  // namespace ukemi::cli
