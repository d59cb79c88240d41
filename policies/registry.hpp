// registry.hpp — the table of all policies, and how a scenario's list becomes policies.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

struct PolicyEntry {
    std::string_view name;
    std::string_view alias;    // a short form: what is written on command lines and in results
    std::string_view summary;  // one line, for `ukemi list policies`
    std::string_view source;   // where its rule comes from
    // The parameters are the keys of the policy's object in the scenario.
    std::unique_ptr<Policy> (*make)(ConfigReader& parameters);
    bool needs_oracle = false;
    bool needs_deadline = false;
    // The parameter that a list may set in short: "constant_batch:256". Empty: none.
    std::string_view short_parameter = "";
    // In place of `make`, for an entry that is made while the program runs: it finds its policy by
    // the entry, and refuses the keys that it does not know.
    std::unique_ptr<Policy> (*make_from)(const PolicyEntry& entry,
                                         ConfigReader& parameters) = nullptr;
};

// All policies, in the order of policy_table.def: an explicit table, because a static library drops
// objects that register themselves.
std::span<const PolicyEntry> all_policies();

// Those that plug-ins have brought (plugin_policies.hpp), in that order.
std::span<const PolicyEntry* const> plugin_policies();
void add_policies(std::span<const PolicyEntry> entries);  // which stay where they are

// By name or alias; null if there is none.
const PolicyEntry* find_policy(std::string_view name);

// Makes the policy from its parameters (the keys of its object). Refuses keys it does not know.
std::unique_ptr<Policy> make_policy(const PolicyEntry& entry, ConfigReader& parameters);

// What to say of a name that find_policy does not know: a sentence with the nearest name, or with
// all.
std::string no_such_policy(std::string_view name);

}  // namespace ukemi::policies
