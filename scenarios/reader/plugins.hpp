// plugins.hpp — libraries with policies and forms of traces of one's own.
#pragma once

#include <filesystem>
#include <string_view>

namespace ukemi::scenarios {

// InputError("PLACE: …") as base/plugin_library.hpp says it.
void load_plugin(const std::filesystem::path& library, std::string_view place);

}  // namespace ukemi::scenarios
