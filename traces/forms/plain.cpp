// plain.cpp — our own form: `t_s,instances` or `t_s,usd_per_instance_hour`, one row a step; columns
// in any order, among others.
//
// The optional first comment line may hold duration_s=, zone=, type= and start= among other words.
// Without a duration the series ends at its last row. Times may be written 1.28421e+06.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view time_column = "t_s";
constexpr std::string_view availability_column = "instances";
constexpr std::string_view price_column = "usd_per_instance_hour";

struct Comment {
    std::optional<Duration> length;
    std::string zone;
    std::string instance_type;
    std::string start;
};

Comment read_comment(CsvScanner& csv) {
    Comment comment;
    std::string_view rest = csv.comment();
    while (true) {
        if (rest.empty()) rest = csv.comment();  // a second line of them
        if (rest.empty()) break;
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, blank);
        rest.remove_prefix(std::min(blank + 1, rest.size()));
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view key = word.substr(0, equals);
        const std::string_view value = word.substr(equals + 1);
        if (key == "zone") comment.zone = value;
        if (key == "type") comment.instance_type = value;
        // "2023-08-27(day only)" in public collections: the rest is a remark.
        if (key == "start") comment.start = value.substr(0, value.find('('));
        if (key != "duration_s") continue;
        const auto length = parse_decimal(value, 9, DecimalGrammar::relaxed);
        if (!length || *length < 0 || *length > trace_length_max.raw()) {
            csv.fail_here(
                fmt::format("expected duration_s from 0 to 100 years, found {}", quoted(value)));
        }
        comment.length = nanoseconds(*length);
    }
    return comment;
}

template <class Value, class ReadValue>
Series<Value> read_rows(CsvScanner& csv, const Comment& comment, ReadValue read_value) {
    const std::size_t time = csv.column(time_column);
    SeriesBuilder<Value> builder;
    while (csv.next_row()) {
        const Instant at = Instant::at(csv.seconds(time));
        if (builder.empty() && at != Instant{}) csv.fail(time, "the first row at 0");
        if (!builder.empty() && at <= builder.last()) {
            csv.fail(time, fmt::format("a time after the row before ({:.9g} s)",
                                       to_seconds(builder.last().since_start())));
        }
        builder.add(at, read_value());
    }
    if (builder.empty()) csv.fail_here("expected at least one row under the header, found none");
    const Instant end = comment.length ? Instant::at(*comment.length) : builder.last();
    if (end < builder.last()) {
        csv.fail_here(
            fmt::format("expected no row after duration_s={:.9g}", to_seconds(end.since_start())));
    }
    return builder.finish(end);
}

Trace plain_trace(const CsvScanner& csv, Comment&& comment) {
    Trace trace;
    csv.add_to(trace.report);
    if (!comment.length) trace.report.notes.emplace_back("no duration_s: ends at its last row");
    trace.series.emplace_back();
    trace.series.back().zone = std::move(comment.zone);
    trace.series.back().instance_type = std::move(comment.instance_type);
    trace.series.back().start = std::move(comment.start);
    return trace;
}

Trace read_plain_availability(std::string_view text, const std::filesystem::path& file,
                              const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "plain_availability");
    CsvScanner csv(text, name);
    Comment comment = read_comment(csv);
    csv.read_header();
    const std::size_t instances = csv.column(availability_column);
    auto series = read_rows<std::int32_t>(csv, comment, [&] { return csv.count(instances); });
    Trace trace = plain_trace(csv, std::move(comment));
    trace.series.back().availability = std::move(series);
    return trace;
}

Trace read_plain_price(std::string_view text, const std::filesystem::path& file,
                       const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner csv(text, name);
    Comment comment = read_comment(csv);
    csv.read_header();
    const std::size_t price = csv.column(price_column);
    auto series = read_rows<Price>(csv, comment, [&] { return csv.price(price); });
    Trace trace = plain_trace(csv, std::move(comment));
    trace.series.back().price = std::move(series);
    return trace;
}

// A nano-unit integer as the shortest exact decimal: 1500000000 is "1.5".
std::string decimal_text(std::int64_t nano) {
    constexpr std::int64_t unit = 1'000'000'000;
    if (nano % unit == 0) return fmt::format("{}", nano / unit);
    std::string text = fmt::format("{}.{:09}", nano / unit, nano % unit);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
}

template <class Value, class WriteValue>
std::string plain_csv(const Series<Value>& series, std::string_view comment,
                      std::string_view column, WriteValue write_value) {
    INVARIANT(comment.find('\n') == std::string_view::npos);
    std::string text =
        fmt::format("# {}{}duration_s={}\n{},{}\n", comment, comment.empty() ? "" : " ",
                    decimal_text(series.end.raw()), time_column, column);
    for (const Step<Value>& step : series.steps) {
        text += decimal_text(step.at.raw());
        text += ',';
        text += write_value(step.value);
        text += '\n';
    }
    return text;
}

}  // namespace

TraceForm plain_availability_form() {
    return {"plain_availability", "our own CSV of steps: t_s,instances",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {time_column, availability_column});
            },
            read_plain_availability};
}

TraceForm plain_price_form() {
    return {"plain_price", "our own CSV of steps: t_s,usd_per_instance_hour",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {time_column, price_column});
            },
            read_plain_price};
}

std::string to_plain_csv(const AvailabilitySeries& series, std::string_view comment) {
    return plain_csv(series, comment, availability_column,
                     [](std::int32_t instances) { return fmt::format("{}", instances); });
}

std::string to_plain_csv(const PriceSeries& series, std::string_view comment) {
    return plain_csv(series, comment, price_column,
                     [](Price price) { return decimal_text(price.raw()); });
}

}  // namespace ukemi::traces
