// series_builder.hpp — puts values in order of time together into a Series.
//
// Keeps the promise of series.hpp: steps strictly increase, neighbours differ, the first is at
// zero. A reader must have refused what would break it; here a broken order is our own mistake.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/invariant.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

template <class Value>
class SeriesBuilder {
public:
    // Holds from `at` on; later than every value added before.
    void add(Instant at, Value value) {
        INVARIANT(series_.steps.empty() ? at == Instant{} : at > last_);
        last_ = at;
        if (!series_.steps.empty() && series_.steps.back().value == value) return;
        series_.steps.push_back({at, value});
    }

    void reserve(std::size_t steps) { series_.steps.reserve(steps); }

    bool empty() const { return series_.steps.empty(); }
    Instant last() const { return last_; }  // of the value added last, also if it was merged

    Series<Value> finish(Instant end) {
        INVARIANT(!series_.steps.empty() && end >= last_);
        series_.end = end;
        return std::move(series_);
    }

private:
    Series<Value> series_;
    Instant last_;
};

// One sample of a file that stamps each with a calendar time.
template <class Value>
struct StampedSample {
    std::int64_t stamp_ns;  // since 1970
    Value value;
};

// How stamps are spaced.
struct Spacing {
    Duration usual;  // the lower median of the gaps; zero for fewer than two stamps
    Duration shortest;
    Duration longest;
    std::size_t holes = 0;        // gaps of more than one and a half times the usual one
    std::int64_t longest_at = 0;  // the stamp before the longest gap
};
Spacing spacing_of(const std::vector<std::int64_t>& stamps);  // strictly increasing

// "1 hole, the longest of 110 min after 2025-10-04T00:10:00Z: the value before it is held" and
// "sampled every 194 s to 280 s, usually 195 s", or nothing where there is nothing to say.
std::vector<std::string> notes_on(const Spacing& spacing);

// Puts them into the report, once each; of holes also a doubt.
void note_spacing(ImportReport& report, const Spacing& spacing);

// Adds the notes that are not there yet: zones of one file often share theirs.
void add_notes(std::vector<std::string>& notes, const std::vector<std::string>& more);

// A series of samples whose stamps strictly increase and span at most `trace_length_max`; it ends
// `after_last` after the last one.
template <class Value>
Series<Value> series_of(const std::vector<StampedSample<Value>>& samples, Duration after_last) {
    SeriesBuilder<Value> builder;
    const std::int64_t zero = samples.front().stamp_ns;
    for (const StampedSample<Value>& sample : samples) {
        builder.add(Instant::at(nanoseconds(sample.stamp_ns - zero)), sample.value);
    }
    return builder.finish(builder.last() + after_last);
}

template <class Value>
Spacing spacing_of(const std::vector<StampedSample<Value>>& samples) {
    std::vector<std::int64_t> stamps;
    stamps.reserve(samples.size());
    for (const StampedSample<Value>& sample : samples) stamps.push_back(sample.stamp_ns);
    return spacing_of(stamps);
}

}  // namespace ukemi::traces
