// join.cpp — step functions of several files laid on one calendar.
#include "traces/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

// A part of a series, from one file.
template <class Value>
struct JoinedPart {
    std::int64_t begin_ns = 0;  // since 1970
    Series<Value> series;
    std::string file;

    std::int64_t end_ns() const { return begin_ns + series.end.raw(); }
    Value last() const { return series.steps.back().value; }
};

struct Gaps {
    std::int64_t count = 0;
    Duration longest;
};

// The value that `series` has at `at`, which it covers.
template <class Value>
Value value_at(const Series<Value>& series, Instant at) {
    const auto after = std::upper_bound(
        series.steps.begin(), series.steps.end(), at,
        [](Instant instant, const Step<Value>& step) { return instant < step.at; });
    return std::prev(after)->value;
}

template <class Value>
Series<Value> join(std::vector<JoinedPart<Value>> parts, Gaps& gaps) {
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    const std::int64_t zero_ns = parts.front().begin_ns;
    std::map<std::int64_t, Value> steps;  // by calendar
    std::int64_t covered_ns = zero_ns;
    Series<Value> so_far;
    for (const JoinedPart<Value>& part : parts) {
        if (part.end_ns() - zero_ns > trace_length_max.raw()) {
            throw InputError(part.file, "", "expected files within 100 years of each other");
        }
        if (part.begin_ns > covered_ns) {
            ++gaps.count;
            gaps.longest = std::max(gaps.longest, nanoseconds(part.begin_ns - covered_ns));
        }
        for (const Step<Value>& step : part.series.steps) {
            const std::int64_t at = part.begin_ns + step.at.raw();
            if (at < covered_ns &&
                value_at(so_far, Instant::at(nanoseconds(at - zero_ns))) != step.value) {
                throw InputError(part.file, "",
                                 fmt::format("expected the value that another file has at {}",
                                             format_timestamp(at)));
            }
            if (at >= covered_ns) steps.insert_or_assign(at, step.value);
        }
        // The value at the seam is the later file's.
        if (part.end_ns() > covered_ns && part.begin_ns < covered_ns) {
            steps.insert_or_assign(
                covered_ns,
                value_at(part.series, Instant::at(nanoseconds(covered_ns - part.begin_ns))));
        }
        covered_ns = std::max(covered_ns, part.end_ns());
        SeriesBuilder<Value> builder;
        for (const auto& [at, value] : steps) {
            builder.add(Instant::at(nanoseconds(at - zero_ns)), value);
        }
        so_far = builder.finish(Instant::at(nanoseconds(covered_ns - zero_ns)));
    }
    return so_far;
}

struct Joining {
    std::string start;
    std::vector<JoinedPart<std::int32_t>> availability;
    std::vector<JoinedPart<Price>> prices;
};
using Joinings = std::map<std::pair<std::string, std::string>, Joining>;

void add_series(TraceSeries&& series, const std::string& file, Joinings& joinings) {
    const auto begin = parse_timestamp(series.start);
    if (!begin) {
        throw InputError(file, "", "has no calendar time: several such files cannot be one record");
    }
    Joining& joining = joinings[{series.zone, series.instance_type}];
    if (joining.start.empty() || series.start < joining.start) joining.start = series.start;
    if (series.availability) {
        joining.availability.push_back({*begin, std::move(*series.availability), file});
    }
    if (series.price) joining.prices.push_back({*begin, std::move(*series.price), file});
}

void add_report(ImportReport& all, const ImportReport& one) {
    all.rows += one.rows;
    all.sampling = std::max(all.sampling, one.sampling);
    add_notes(all.notes, one.notes);
    add_notes(all.repairs, one.repairs);
    add_notes(all.doubts, one.doubts);
}

}  // namespace

Trace joined(std::span<const TracePage> pages, const TraceForm& form, const ReadOptions& options) {
    Trace all;
    Joinings joinings;
    for (const TracePage& page : pages) {
        Trace one = form.read(page.text, page.file, options);
        add_report(all.report, one.report);
        for (TraceSeries& series : one.series) {
            add_series(std::move(series), page.file.string(), joinings);
        }
        std::ranges::move(one.lifetimes, std::back_inserter(all.lifetimes));
        std::ranges::move(one.listed_prices, std::back_inserter(all.listed_prices));
        std::ranges::move(one.bands, std::back_inserter(all.bands));
    }
    Gaps gaps;
    for (auto& [names, joining] : joinings) {
        TraceSeries& series = all.series.emplace_back();
        series.zone = names.first;
        series.instance_type = names.second;
        series.start = joining.start;
        if (!joining.availability.empty()) {
            series.availability = join(std::move(joining.availability), gaps);
        }
        if (!joining.prices.empty()) series.price = join(std::move(joining.prices), gaps);
    }
    all.report.notes.push_back(fmt::format("{} files joined by the calendar", pages.size()));
    if (gaps.count > 0) {
        all.report.notes.push_back(
            fmt::format("{} gaps between files, the longest of {:.1f} h: the value before is held",
                        gaps.count, to_hours(gaps.longest)));
    }
    return all;
}

}  // namespace ukemi::traces
