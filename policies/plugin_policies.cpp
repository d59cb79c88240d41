#include "policies/plugin_policies.hpp"

#include "policies/plugin.hpp"

namespace ukemi::policies {

namespace {

std::string problem_of(const PolicyPlugin& plugin) {
    for (std::size_t i = 0; i < plugin.count; ++i) {
        const PolicyEntry& entry = plugin.entries[i];
        if (entry.name.empty() || entry.make == nullptr) return "has a policy without name or make";
        for (const std::string_view name : {entry.name, entry.alias}) {
            if (!name.empty() && find_policy(name) != nullptr) {
                return "has a policy \"" + std::string(name) + "\", and there is one already";
            }
        }
    }
    return "";
}

std::string take_policies(void* function) {
    const PolicyPlugin* const plugin = reinterpret_cast<PolicyPluginFunction*>(function)();
    std::string problem = problem_of_table(plugin, plugin_abi, "policies");
    if (problem.empty()) problem = problem_of(*plugin);
    if (problem.empty()) add_policies({plugin->entries, plugin->count});
    return problem;
}

}  // namespace

PluginKind plugin_policies_kind() {
    return {policy_plugin_function, "UKEMI_POLICIES of policies/plugin.hpp", take_policies};
}

}  // namespace ukemi::policies
