// scenario_schema.hpp — the JSON Schema (draft 2020-12) of scenarios, for editors.
//
// Made of what the reader asks for (base/key_notes.hpp), so that it knows every key, kind, unit,
// bound and default that the reader knows. What several keys say together it cannot see: a scenario
// that it takes may still be refused by the reader, and none that the reader takes is refused by
// it.
#pragma once

#include <string>

namespace ukemi::scenarios {

std::string scenario_schema();           // of jobs on a market: replay, compare, train
std::string step_scenario_schema();      // of steps on a cluster: simulate
std::string schedule_scenario_schema();  // of jobs that share a cluster: schedule
std::string search_scenario_schema();    // of trials that share a cluster: search

// The same notes as a table in Markdown, a line a key: its path, its kind of value with bounds, and
// its default ("–": it must be there, or what stands instead of it).
std::string scenario_key_table();
std::string step_scenario_key_table();
std::string schedule_scenario_key_table();
std::string search_scenario_key_table();

}  // namespace ukemi::scenarios
