// join.hpp — several files of one record whose form has no pages of its own: series meet by name
// and by the calendar.
#pragma once

#include <span>

#include "traces/reader.hpp"

namespace ukemi::traces {

// Every page read alone; series of the same zone and type become one, in order of time. Where two
// overlap they must agree; between two, the value before is held, and the gap is a note. A series
// without a calendar time, or without a zone and type where others have one, is an InputError.
Trace joined(std::span<const TracePage> pages, const TraceForm& form, const ReadOptions& options);

}  // namespace ukemi::traces
