// stamped_csv.cpp — samples of availability with calendar times, one series a file.
//
// skynomad_csv: `date,availability`, 1 = could be had; the sampling is irregular and kept as it is;
// a column of prices may stand beside.
// skypilot_strategy_txt: index,time,flag without a header; 1 = could NOT be had.
// Rows may come in any order. The series ends one usual gap after its last sample.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/ordered_samples.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

template <class Value>
using StampedRows = std::vector<PlacedSample<Value>>;

std::string_view expected_value(bool inverted) {
    return inverted ? "0 or 1 (1 = unavailable)" : "0 or 1 (1 = available)";
}

std::int32_t flag(const CsvScanner& csv, std::size_t column, bool inverted) {
    const auto value = static_cast<std::int32_t>(csv.whole(column, 0, 1, expected_value(inverted)));
    return inverted ? 1 - value : value;
}

Trace sampled_trace(const CsvScanner& csv, StampedRows<std::int32_t> rows,
                    StampedRows<Price> prices, bool inverted) {
    Trace trace;
    csv.add_to(trace.report);
    const auto fail_at = [&](std::size_t, std::size_t offset, std::string_view problem) {
        csv.fail_at(offset, problem);
    };
    OrderRepairs repairs;
    const auto samples = in_order(std::move(rows), "value", repairs, fail_at);
    if (samples.size() < 2) {
        csv.fail_here(fmt::format("expected at least two samples, found {}", samples.size()));
    }
    repairs.add_to(trace.report.repairs);
    const Spacing spacing = spacing_of(samples);
    trace.report.sampling = spacing.usual;
    note_spacing(trace.report, spacing);
    if (inverted) trace.report.notes.emplace_back("polarity: 1 means unavailable");
    TraceSeries& series = trace.series.emplace_back();
    series.start = format_timestamp(samples.front().stamp_ns);
    series.availability = series_of(samples, spacing.usual);
    if (!prices.empty()) {
        OrderRepairs same;
        series.price =
            series_of(in_order(std::move(prices), "price", same, fail_at), spacing.usual);
    }
    return trace;
}

std::size_t price_column(CsvScanner& csv) {
    for (const std::string_view name : {"price", "spot_price", "prices"}) {
        const std::size_t column = csv.column_if_present(name);
        if (column != CsvScanner::no_column) return column;
    }
    return CsvScanner::no_column;
}

Trace read_skynomad_csv(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions& options) {
    const std::string name = file.string();
    const bool inverted = one_means_unavailable(options.polarity, Polarity::one_is_available);
    CsvScanner csv(text, name);
    while (!csv.comment().empty()) {
    }
    csv.read_header();
    const std::size_t date = csv.column("date");
    const std::size_t availability = csv.column("availability");
    const std::size_t price = price_column(csv);
    StampedRows<std::int32_t> rows;
    StampedRows<Price> prices;
    while (csv.next_row()) {
        const std::int64_t stamp = csv.timestamp(date);
        rows.push_back({stamp, inverted ? flag(csv, availability, true) : csv.count(availability),
                        csv.row_offset()});
        if (price != CsvScanner::no_column) {
            prices.push_back({stamp, csv.price(price), csv.row_offset()});
        }
    }
    return sampled_trace(csv, std::move(rows), std::move(prices), inverted);
}

Trace read_skypilot_strategy(std::string_view text, const std::filesystem::path& file,
                             const ReadOptions& options) {
    const std::string name = file.string();
    const bool inverted = one_means_unavailable(options.polarity, Polarity::one_is_unavailable);
    CsvScanner csv(text, name);
    StampedRows<std::int32_t> rows;
    std::int64_t jumps = 0;  // of the index: rows that somebody left out, or their order
    std::int64_t next_index = 0;
    while (csv.next_row(3, 100)) {
        const std::int64_t index = csv.whole(0, 0, trace_rows_max, "the number of the sample");
        if (!rows.empty() && index != next_index) ++jumps;
        next_index = index + 1;
        rows.push_back({csv.timestamp(1), flag(csv, 2, inverted), csv.row_offset()});
    }
    Trace trace = sampled_trace(csv, std::move(rows), {}, inverted);
    if (jumps > 0) {
        trace.report.notes.push_back(
            fmt::format("the numbers of the samples jump {} times: times decide", jumps));
    }
    return trace;
}

// "0,2022-11-28T22:23:37.000Z,1"
bool recognises_strategy(std::string_view head, const std::filesystem::path&) {
    const std::vector<std::string> fields = first_fields(head);
    return fields.size() >= 3 && !fields[0].empty() &&
           fields[0].find_first_not_of("0123456789") == std::string::npos &&
           parse_timestamp(fields[1]).has_value() && (fields[2] == "0" || fields[2] == "1");
}

}  // namespace

TraceForm skynomad_csv_form() {
    return {"skynomad_csv", "SkyNomad's CSV of samples: date,availability (1 = available)",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {"date", "availability"});
            },
            read_skynomad_csv};
}

TraceForm skypilot_strategy_form() {
    return {"skypilot_strategy_txt",
            "SkyPilot strategy samples: index,time,flag (1 = NOT available)", recognises_strategy,
            read_skypilot_strategy};
}

std::vector<std::int64_t> sample_times(const std::filesystem::path& file) {
    const std::string text = read_file(file);
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.read_header();
    std::size_t column = csv.column_if_present("date");
    if (column == CsvScanner::no_column) column = csv.column_if_present("timestamp");
    if (column == CsvScanner::no_column) column = csv.column("time");
    std::vector<std::int64_t> times;
    while (csv.next_row()) times.push_back(csv.timestamp(column));
    for (std::size_t i = 1; i < times.size(); ++i) {
        if (times[i] > times[i - 1] && times[i] - times[0] <= trace_length_max.raw()) continue;
        throw InputError(name, "",
                         fmt::format("expected times that go up, within 100 years; {} does not",
                                     format_timestamp(times[i])));
    }
    return times;
}

}  // namespace ukemi::traces
