// registry.cpp — the policies of policy_table.def: their functions declared, and their table.
#include "policies/registry.hpp"

#include <array>
#include <string>

#include "policies/parameter_notes.hpp"

namespace ukemi::policies {

#define POLICY(policy, ...) std::unique_ptr<Policy> make_##policy(ConfigReader& parameters);
#include "policies/policy_table.def"
#undef POLICY

namespace {

#define POLICY(policy, short_form, what, rule, ...) \
    PolicyEntry{.name = #policy,                    \
                .alias = short_form,                \
                .summary = what,                    \
                .source = rule,                     \
                .make = make_##policy,              \
                __VA_ARGS__},
constexpr std::array table{
#include "policies/policy_table.def"
};
#undef POLICY

}  // namespace

std::span<const PolicyEntry> all_policies() { return table; }

const PolicyEntry* find_policy(std::string_view name) {
    for (const PolicyEntry& entry : all_policies()) {
        if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) return &entry;
    }
    return nullptr;
}

std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, ConfigReader& parameters) {
    auto policy = entry.make(parameters);
    parameters.finish();
    INVARIANT(policy->name() == entry.name);
    return policy;
}

std::vector<KeyNote> parameters_of(const PolicyEntry& entry) {
    const std::array<std::string, 1> examples{"{}"};
    return keys_of(examples, [&](ConfigReader& parameters) { make_policy(entry, parameters); });
}

std::string no_such_policy(std::string_view name) {
    std::vector<std::string_view> known;
    std::string list;
    for (const PolicyEntry& each : all_policies()) {
        known.push_back(each.name);
        if (!list.empty()) list += ", ";
        list += each.name;
    }
    const std::string nearest = did_you_mean(name, known);
    return "no policy \"" + std::string(name) + "\"" +
           (nearest.empty() ? "; there is " + list : nearest);
}

}  // namespace ukemi::policies
