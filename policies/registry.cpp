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

std::vector<const PolicyEntry*>& brought() {
    static std::vector<const PolicyEntry*> entries;
    return entries;
}

bool is_called(const PolicyEntry& entry, std::string_view name) {
    return entry.name == name || (!entry.alias.empty() && entry.alias == name);
}

}  // namespace

std::span<const PolicyEntry> all_policies() { return table; }

std::span<const PolicyEntry* const> plugin_policies() { return brought(); }

void add_policies(std::span<const PolicyEntry> entries) {
    for (const PolicyEntry& entry : entries) brought().push_back(&entry);
}

const PolicyEntry* find_policy(std::string_view name) {
    for (const PolicyEntry& entry : all_policies()) {
        if (is_called(entry, name)) return &entry;
    }
    for (const PolicyEntry* const entry : plugin_policies()) {
        if (is_called(*entry, name)) return entry;
    }
    return nullptr;
}

std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, ConfigReader& parameters) {
    const bool of_table = entry.make_from == nullptr;
    auto policy = of_table ? entry.make(parameters) : entry.make_from(entry, parameters);
    if (of_table) parameters.finish();
    INVARIANT(policy->name() == entry.name);
    return policy;
}

std::vector<KeyNote> parameters_of(const PolicyEntry& entry) {
    // The bounds of some keys are values of others.
    const std::array<std::string, 2> examples{"{}", R"({"batch_min": 2})"};
    return keys_of(examples, [&](ConfigReader& parameters) { make_policy(entry, parameters); });
}

std::string no_such_policy(std::string_view name) {
    std::vector<std::string_view> known;
    std::string list;
    const auto add = [&](const PolicyEntry& each) {
        known.push_back(each.name);
        if (!list.empty()) list += ", ";
        list += each.name;
    };
    for (const PolicyEntry& each : all_policies()) add(each);
    for (const PolicyEntry* const each : plugin_policies()) add(*each);
    const std::string nearest = did_you_mean(name, known);
    return "no policy \"" + std::string(name) + "\"" +
           (nearest.empty() ? "; there is " + list : nearest);
}

}  // namespace ukemi::policies
