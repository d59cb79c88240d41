// series.hpp — recorded markets as step functions: a value holds until the next step.
//
// A series begins at instant zero with its first step and ends at `end`; what holds after the end
// is the scenario's to say. Steps are strictly increasing in time and consecutive values differ.
// Every reader returns this one form, with a report of what it found and what it repaired. What is
// no series (how long instances lived, list prices, bands of interruption) stands beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::traces {

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

// When what a step says holds no more.
template <class Value>
Instant end_of_step(const Series<Value>& series, std::size_t index) {
    return index + 1 < series.steps.size() ? series.steps[index + 1].at : series.end;
}

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
    // What of the notes makes a replay doubtful, in words that are alike for many files.
    std::vector<std::string> doubts = {};
};

// A named node joined a group or left it. Of one instant, in the order of the file.
struct NodeEvent {
    Instant at;
    bool joined = false;
    std::string node;
    friend bool operator==(const NodeEvent&, const NodeEvent&) = default;
};

// One zone and instance type of one file.
struct TraceSeries {
    std::string zone;           // "us-west-2a", or empty
    std::string instance_type;  // "p3.2xlarge", or empty
    std::optional<AvailabilitySeries> availability;
    std::optional<PriceSeries> price;
    std::string start = {};             // ISO 8601 of its instant zero, where the file says it
    bool one_is_undated = false;        // of availability and prices out of two files
    std::vector<NodeEvent> nodes = {};  // where the file names them; in order
};

// How long one instance was seen alive.
struct Lifetime {
    std::string zone;
    std::string instance_type;
    std::string start;  // ISO 8601, or empty
    Duration lasted;
    bool was_lost = false;  // false: given back, or still alive when the record ends (censored)
    friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

// One line of a price list: what an instance costs an hour, without any history.
struct ListedPrice {
    std::string region;  // or zone, where the list says it
    std::string instance_type;
    std::optional<Price> on_demand;
    std::optional<Price> spot;
    friend bool operator==(const ListedPrice&, const ListedPrice&) = default;
};

// How often a provider says that it takes instances back, in percent of them a month.
struct InterruptionBand {
    std::string region;
    std::string instance_type;
    std::string system;  // "Linux"
    std::int32_t percent_min = 0;
    std::int32_t percent_max = 0;
    std::int32_t savings_percent = 0;  // of spot against on-demand
    friend bool operator==(const InterruptionBand&, const InterruptionBand&) = default;
};

struct Trace {
    std::string name;  // the file's name without folders and endings
    // Sorted by (zone, type). At least one, unless the file holds one of the other records only.
    std::vector<TraceSeries> series;
    std::vector<Lifetime> lifetimes = {};
    std::vector<ListedPrice> listed_prices = {};
    std::vector<InterruptionBand> bands = {};
    ImportReport report;
};

}  // namespace ukemi::traces
