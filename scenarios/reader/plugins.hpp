// plugins.hpp — libraries with policies and forms of traces of one's own, and Python files with
// policies.
#pragma once

#include <filesystem>
#include <string_view>

namespace ukemi::scenarios {

// A library, or a file that ends in .py. InputError("PLACE: …") as base/plugin_library.hpp and
// policy_process.hpp say it.
void load_plugin(const std::filesystem::path& library, std::string_view place);

}  // namespace ukemi::scenarios
