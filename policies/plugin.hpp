// plugin.hpp — policies in a shared library of their own: what such a library has in it.
//
//     #include "policies/plugin.hpp"
//     class Mine final : public ukemi::policies::Policy { … };
//     UKEMI_POLICIES({.name = "mine", .summary = "…", .source = "…", .make = make_mine})
//
// A scenario names the library's path under "plugins", and its policies by their names like all
// others. It is compiled against these headers and uses the functions of the program that loads it,
// so both must mean the same by every type that passes between them: plugin_abi says so.
#pragma once

#include <cstdint>
#include <iterator>

#include "base/plugin_library.hpp"
#include "policies/registry.hpp"

namespace ukemi::policies {

// Of what policies are shown and hand back; the version rises where a type changes and its size
// does not.
inline constexpr std::uint64_t plugin_abi =
    plugin_abi_of(2, {sizeof(PolicyEntry), sizeof(Policy), sizeof(PolicyView), sizeof(Observation),
                      sizeof(Plan), sizeof(Decision), sizeof(ConfigReader), sizeof(RandomStream)});

// What a library's function `ukemi_policies` returns.
using PolicyPlugin = PluginTable<PolicyEntry>;
using PolicyPluginFunction = const PolicyPlugin*();
inline constexpr const char* policy_plugin_function = "ukemi_policies";

}  // namespace ukemi::policies

// At the end of a plug-in's source, outside every namespace: a PolicyEntry in braces for each.
#define UKEMI_POLICIES(...)                                                                \
    extern "C" __attribute__((visibility("default"))) const ukemi::policies::PolicyPlugin* \
    ukemi_policies() {                                                                     \
        static const ukemi::policies::PolicyEntry entries[] = {__VA_ARGS__};               \
        static const ukemi::policies::PolicyPlugin plugin{                                 \
            ukemi::policies::plugin_abi, __VERSION__, entries, std::size(entries)};        \
        return &plugin;                                                                    \
    }
