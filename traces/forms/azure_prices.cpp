// azure_prices.cpp — prices noted once a day, a column an instance type, a file a region.
//
// `Date,NC12,NC12s v2,…` with days as month/day/year or year-month-day and prices as $0.24552; an
// empty cell has no price, and the one before holds. The region is the file's name. The series ends
// a day after its last price.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/ordered_samples.hpp"

namespace ukemi::traces {

namespace {

// "2/24/2020" as the month, the day, the year; "2020-02-24" too. Midnight, nanoseconds since 1970.
std::optional<std::int64_t> parse_day(std::string_view text) {
    if (text.find('/') == std::string_view::npos) {
        return parse_timestamp(fmt::format("{}T00:00:00", text));
    }
    std::array<std::int64_t, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t end = i < 2 ? text.find('/') : text.size();
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view part = text.substr(0, end);
        const auto value = parse_whole(part, DecimalGrammar::relaxed);
        const bool digits = part.find_first_not_of("0123456789") == std::string_view::npos;
        if (!value || !digits || *value > 9999) return std::nullopt;
        parts[i] = *value;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parse_timestamp(fmt::format("{:04}-{:02}-{:02}T00:00:00", parts[2], parts[0], parts[1]));
}

// "us-north-central" of "us_north_central.csv".
std::string region_of(const std::filesystem::path& file) {
    std::string region = trace_name(file);
    std::replace(region.begin(), region.end(), '_', '-');
    return region;
}

Trace read_azure_prices(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.read_header();
    const std::size_t date = csv.column("date");
    std::vector<std::vector<PlacedSample<Price>>> columns(csv.header_columns());
    std::int64_t empty = 0;
    while (csv.next_row()) {
        const auto day = parse_day(csv.field(date));
        if (!day) csv.fail(date, "a day such as 2/24/2020 (month first) or 2020-02-24");
        for (std::size_t column = 0; column < columns.size(); ++column) {
            if (column == date) continue;
            std::string_view cell = csv.field(column);
            if (cell.empty()) {
                ++empty;
                continue;
            }
            if (cell.starts_with('$')) cell.remove_prefix(1);
            const auto price = parse_decimal(cell, 9, DecimalGrammar::relaxed);
            if (!price || *price < 0 || *price > trace_price_max.raw()) {
                csv.fail(column, expected_price);
            }
            columns[column].push_back({*day, Price::of(*price), csv.row_offset()});
        }
    }
    Trace trace;
    OrderRepairs repairs;
    for (std::size_t column = 0; column < columns.size(); ++column) {
        if (columns[column].empty()) continue;
        csv.column(csv.header(column));  // read
        const auto samples =
            in_order(std::move(columns[column]), "price", repairs,
                     [&](std::size_t, std::size_t offset, std::string_view problem) {
                         csv.fail_at(offset, problem);
                     });
        const Spacing spacing = spacing_of(samples);
        trace.report.sampling = std::max(trace.report.sampling, spacing.usual);
        note_spacing(trace.report, spacing);
        TraceSeries& series = trace.series.emplace_back();
        series.zone = region_of(file);
        series.instance_type = csv.header(column);
        series.start = format_timestamp(samples.front().stamp_ns);
        series.price = series_of(samples, days(1));
    }
    if (trace.series.empty()) csv.fail_here("expected at least one price, found none");
    csv.add_to(trace.report);
    if (empty > 0) trace.report.notes.push_back(fmt::format("{} cells without a price", empty));
    repairs.add_to(trace.report.repairs);
    return trace;
}

// The header begins with the day, and a first price has a dollar sign.
bool recognises_azure(std::string_view head, const std::filesystem::path&) {
    const std::vector<std::string> fields = first_fields(head);
    return fields.size() >= 2 && has_columns(head, {"date"}) &&
           head.find('$') != std::string_view::npos;
}

}  // namespace

TraceForm azure_prices_form() {
    return {"azure_daily_prices_csv", "prices a day: Date,TYPE,TYPE,… with $ before each price",
            recognises_azure, read_azure_prices};
}

}  // namespace ukemi::traces
