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

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "policies/registry.hpp"

namespace ukemi::policies {

// Of the interface's own version, the standard library's, and the sizes of what policies are shown
// and hand back.
consteval std::uint64_t plugin_abi_of_here() {
    constexpr std::uint64_t interface = 1;  // one more where a type changes and its size does not
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::uint64_t part :
         {interface, std::uint64_t{_GLIBCXX_USE_CXX11_ABI}, std::uint64_t{sizeof(PolicyEntry)},
          std::uint64_t{sizeof(Policy)}, std::uint64_t{sizeof(PolicyView)},
          std::uint64_t{sizeof(Observation)}, std::uint64_t{sizeof(Plan)},
          std::uint64_t{sizeof(Decision)}, std::uint64_t{sizeof(ConfigReader)},
          std::uint64_t{sizeof(RandomStream)}}) {
        hash = (hash ^ part) * 0x100000001b3U;
    }
    return hash;
}
inline constexpr std::uint64_t plugin_abi = plugin_abi_of_here();

// What a library's function `ukemi_policies` returns. The first two members never move.
struct PolicyPlugin {
    std::uint64_t abi = 0;
    const char* compiler = "";
    const PolicyEntry* entries = nullptr;
    std::size_t count = 0;
};
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
