// plugin_loader.hpp — brings the policies of a shared library into the registry.
#pragma once

#include <filesystem>
#include <string_view>

namespace ukemi::policies {

// A library's code runs with its user's rights, and a scenario may be somebody else's: libraries
// are loaded only once the user has said so. Before there are threads.
void allow_plugins();

// Loads a library once, however often it is asked for; its policies are found by name from then on.
// InputError("PLACE: …") where that is not allowed, and for a library that is not there, is not
// one, lacks a function, was built against another interface, crashes or hangs as it is loaded, or
// has a policy whose name is taken.
void load_plugin(const std::filesystem::path& library, std::string_view place);

}  // namespace ukemi::policies
