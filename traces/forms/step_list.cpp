// step_list.cpp — Bamboo's AWS groups of 2020: time,count without a header, as a plot's corners.
//
// A corner is two rows of one time: the last one holds. The first row is the beginning. Times that
// are whole are seconds; times with a point are hours (upstream calls those files "scaled"). The
// group's size is known until the last row, where the series ends.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int64_t nano_per_hour = 3'600'000'000'000;

// A time of the file in billionths of its unit.
std::int64_t billionths(const CsvScanner& csv) {
    const auto value = parse_decimal(csv.field(0), 9, DecimalGrammar::relaxed);
    if (!value || *value < 0) csv.fail(0, "a time since the start, in seconds or hours");
    return *value;
}

bool in_hours(std::string_view text, std::string_view name) {
    CsvScanner csv(text, name);
    while (csv.next_row(2)) {
        if (csv.field(0).find('.') != std::string_view::npos) return true;
    }
    return false;
}

Duration time_of(const CsvScanner& csv, bool hours_are_meant) {
    const std::int64_t value = billionths(csv);
    const Int128 nano =
        hours_are_meant ? static_cast<Int128>(value) * nano_per_hour / 1'000'000'000 : value;
    if (nano > trace_length_max.raw()) csv.fail(0, "a time of at most 100 years");
    return nanoseconds(static_cast<std::int64_t>(nano));
}

Trace read_step_list(std::string_view text, const std::filesystem::path& file,
                     const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "bamboo_step_list");
    const bool hours_are_meant = in_hours(text, name);
    CsvScanner csv(text, name);
    SeriesBuilder<std::int32_t> builder;
    bool any = false;
    Duration first;
    Duration now;
    std::int32_t held = 0;
    while (csv.next_row(2)) {
        const Duration at = time_of(csv, hours_are_meant);
        if (!any) {
            first = now = at;
        } else if (at < now) {
            csv.fail(0, "a time not before that of the row before");
        } else if (at > now) {
            builder.add(Instant::at(now - first), held);
            now = at;
        }
        any = true;
        held = csv.count(1);
    }
    if (!any) csv.fail_here("expected at least one row, found none");
    builder.add(Instant::at(now - first), held);

    Trace trace;
    csv.add_to(trace.report);
    trace.report.notes.emplace_back(hours_are_meant ? "times with a point are hours"
                                                    : "whole times are seconds");
    trace.report.notes.emplace_back("ends at its last row");
    trace.series.emplace_back().availability = builder.finish(Instant::at(now - first));
    return trace;
}

// "0,8" or "0.000,0": the first time is zero, which few other tables begin with.
bool recognises_step_list(std::string_view head, const std::filesystem::path&) {
    const std::vector<std::string> fields = first_fields(head);
    if (fields.size() != 2 || begins_json(head)) return false;
    const auto time = parse_decimal(fields[0], 9, DecimalGrammar::json);
    const auto count = parse_whole(fields[1], DecimalGrammar::json);
    return time == 0 && count && *count >= 0;
}

}  // namespace

TraceForm step_list_form() {
    return {"bamboo_step_list", "Bamboo's step lists: seconds (or hours, with a point),count",
            recognises_step_list, read_step_list};
}

}  // namespace ukemi::traces
