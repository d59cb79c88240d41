// plugin_policies.hpp — brings the policies of shared libraries into the registry.
#pragma once

#include "base/plugin_library.hpp"

namespace ukemi::policies {

// Its policies are found by name from then on. A name that is taken is a reason to refuse it.
PluginKind plugin_policies_kind();

}  // namespace ukemi::policies
