// plugin_library.hpp — shared libraries with code of somebody's own: tried, opened and taken up.
//
// A library may bring things of several kinds (policies, forms of traces); of each kind it has a
// function of a fixed name, which returns a table of them. It is compiled against our headers and
// uses the functions of the program that loads it, so both must mean the same by every type that
// passes between them: a number made of their sizes says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace ukemi {

// What a library's function returns. The first two members never move.
template <class Entry>
struct PluginTable {
    std::uint64_t abi = 0;
    const char* compiler = "";
    const Entry* entries = nullptr;
    std::size_t count = 0;
};

// Of the interface's own version, the standard library's, and sizes of types.
consteval std::uint64_t plugin_abi_of(std::uint64_t interface_version,
                                      std::initializer_list<std::size_t> sizes) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    const auto add = [&](std::uint64_t part) { hash = (hash ^ part) * 0x100000001b3U; };
    add(interface_version);
    add(std::uint64_t{_GLIBCXX_USE_CXX11_ABI});
    for (const std::size_t size : sizes) add(size);
    return hash;
}

// What is wrong with a table whatever its kind; `things` are what it should hold: "policies".
template <class Entry>
std::string problem_of_table(const PluginTable<Entry>* table, std::uint64_t abi,
                             const std::string& things) {
    if (table == nullptr) return "has no " + things;
    if (table->abi != abi) {
        return std::string("was built against another interface than this program's (by ") +
               (table->abi == 0 ? "nobody" : table->compiler) +
               "): build it anew with the headers of this ukemi";
    }
    return table->count == 0 ? "has no " + things : "";
}

struct PluginKind {
    const char* function;  // "ukemi_policies"
    const char* made_by;   // "UKEMI_POLICIES of policies/plugin.hpp"
    // Calls it and takes up what it gives; says what is wrong with that, or nothing.
    std::string (*take)(void* function);
};

// A library's code runs with its user's rights, and a scenario may be somebody else's: libraries
// are loaded only once the user has said so. Before there are threads.
void allow_plugins();
bool plugins_are_allowed();

// Loads a library once, however often it is asked for. InputError("PLACE: …") where that is not
// allowed, and for a library that is not there, is not one, has no function of these kinds, lacks
// another, crashes or hangs as it is loaded, or whose things are not taken up.
void load_plugin_library(const std::filesystem::path& library, std::string_view place,
                         std::span<const PluginKind> kinds);

}  // namespace ukemi
