// plugin_forms.hpp — brings the forms of shared libraries into the table of trace forms.
#pragma once

#include <filesystem>

#include "base/plugin_library.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

// Files of its forms are read from then on. A name that is taken is a reason to refuse it.
PluginKind plugin_forms_kind();

// InputError unless a trace keeps what series.hpp promises: somebody else's reader made it.
void check_trace(const Trace& trace, std::string_view form, const std::filesystem::path& file);

}  // namespace ukemi::traces
