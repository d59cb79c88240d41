// series.hpp — recorded markets as step functions: a value holds until the next step.
//
// A series begins at instant zero with its first step and ends at `end`; what holds after the end
// is the scenario's to say. Steps are strictly increasing in time and consecutive values differ.
// Every reader returns this one form, with a report of what it found and what it repaired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi {

template <class Value>
struct Step {
    Instant at;
    Value value{};
    friend bool operator==(const Step&, const Step&) = default;
};

template <class Value>
struct Series {
    std::vector<Step<Value>> steps;  // steps[0].at is instant zero
    Instant end;                     // not before the last step
    friend bool operator==(const Series&, const Series&) = default;
};

using AvailabilitySeries = Series<std::int32_t>;  // instances that can be held
using PriceSeries = Series<Price>;                // per instance and hour

// What a reader saw. Counts that are not zero are printed; nothing is repaired in silence.
struct ImportReport {
    std::string form;                  // the name of the reader, as in `ukemi list traces`
    std::int64_t rows = 0;             // rows or samples read
    Duration sampling;                 // zero when driven by events
    std::string start;                 // of the earliest series, ISO 8601, or empty
    std::vector<std::string> notes;    // "polarity: 1 means unavailable", "4 zones", …
    std::vector<std::string> repairs;  // "15 rows out of order: sorted", …
};

// One zone and instance type of one file.
struct TraceSeries {
    std::string zone;           // "us-west-2a", or empty
    std::string instance_type;  // "p3.2xlarge", or empty
    std::optional<AvailabilitySeries> availability;
    std::optional<PriceSeries> price;
    std::string start = {};  // ISO 8601 of its instant zero, where the file says it
};

struct Trace {
    std::string name;                 // the file's name without folders and endings
    std::vector<TraceSeries> series;  // at least one, sorted by (zone, type)
    ImportReport report;
};

}  // namespace ukemi
