#include "scenarios/reader/plugins.hpp"

#include <array>

#include "policies/plugin_policies.hpp"
#include "traces/plugin_forms.hpp"

namespace ukemi::scenarios {

void load_plugin(const std::filesystem::path& library, std::string_view place) {
    const std::array kinds{policies::plugin_policies_kind(), traces::plugin_forms_kind()};
    load_plugin_library(library, place, kinds);
}

}  // namespace ukemi::scenarios
