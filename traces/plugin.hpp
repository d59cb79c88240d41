// plugin.hpp — forms of recorded markets in a shared library of their own: what such a library has
// in it.
//
//     #include "traces/plugin.hpp"
//     bool recognises(std::string_view head, const std::filesystem::path& file) { … }
//     Trace read(std::string_view text, const std::filesystem::path& file, const ReadOptions&) …
//     UKEMI_TRACE_FORMS({.name = "mine", .summary = "…", .recognises = recognises, .read = read})
//
// `ukemi --plugin LIBRARY COMMAND …` loads it; a scenario names its path under "plugins". From then
// on files of that form are read wherever traces are. Its forms are asked before ours.
#pragma once

#include <cstdint>
#include <iterator>

#include "base/plugin_library.hpp"
#include "traces/reader.hpp"

namespace ukemi::traces {

// Of what readers are given and hand back; the version rises where a type changes and its size does
// not.
inline constexpr std::uint64_t form_abi =
    plugin_abi_of(1, {sizeof(TraceForm), sizeof(ReadOptions), sizeof(TracePage), sizeof(Trace),
                      sizeof(TraceSeries), sizeof(Lifetime), sizeof(ListedPrice),
                      sizeof(InterruptionBand), sizeof(ImportReport), sizeof(NodeEvent)});

// What a library's function `ukemi_trace_forms` returns.
using FormPlugin = PluginTable<TraceForm>;
using FormPluginFunction = const FormPlugin*();
inline constexpr const char* form_plugin_function = "ukemi_trace_forms";

}  // namespace ukemi::traces

// At the end of a plug-in's source, outside every namespace: a TraceForm in braces for each.
#define UKEMI_TRACE_FORMS(...)                                                              \
    extern "C" __attribute__((visibility("default"))) const ukemi::traces::FormPlugin*      \
    ukemi_trace_forms() {                                                                   \
        static const ukemi::traces::TraceForm entries[] = {__VA_ARGS__};                    \
        static const ukemi::traces::FormPlugin plugin{ukemi::traces::form_abi, __VERSION__, \
                                                      entries, std::size(entries)};         \
        return &plugin;                                                                     \
    }
