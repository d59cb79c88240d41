#include "scenarios/reader/plugins.hpp"

#include <array>

#include "policies/plugin_policies.hpp"
#include "scenarios/reader/policy_process.hpp"
#include "traces/plugin_forms.hpp"

namespace ukemi::scenarios {

void load_plugin(const std::filesystem::path& library, std::string_view place) {
    if (library.extension() == ".py") return load_policy_file(library, place);
    const std::array kinds{policies::plugin_policies_kind(), traces::plugin_forms_kind()};
    load_plugin_library(library, place, kinds);
}

}  // namespace ukemi::scenarios
