// stamped_csv.cpp — samples with calendar times, one series a file: availability and price.
//
// skynomad_csv: `date,availability`, 1 = could be had; the sampling is irregular and kept as it is.
// skypilot_strategy_txt: index,time,flag without a header; 1 = could NOT be had.
// stamped_price_csv: `timestamp_utc,price_usd_per_h`, driven by events.
// Times must strictly increase. Sampled series end one usual gap after their last sample; a list of
// price changes ends at the last one, because nobody saw more.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "traces/csv_scanner.hpp"
#include "traces/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi {

namespace {

constexpr std::string_view skynomad_header = "date,availability";
constexpr std::string_view price_header = "timestamp_utc,price_usd_per_h";

using AvailabilitySamples = std::vector<StampedSample<std::int32_t>>;
using PriceSamples = std::vector<StampedSample<Price>>;

template <class Samples, class Value>
void add_sample(const CsvScanner& csv, std::size_t column, Samples& samples, Value value) {
    const std::int64_t stamp = csv.timestamp(column);
    if (!samples.empty()) {
        csv.check_order(column, stamp, samples.back().stamp_ns, samples.front().stamp_ns);
    }
    samples.push_back({stamp, value});
}

std::int32_t flag(const CsvScanner& csv, std::size_t column, bool inverted) {
    const auto value = static_cast<std::int32_t>(
        csv.whole(column, 0, 1, inverted ? "0 or 1 (1 = unavailable)" : "0 or 1 (1 = available)"));
    return inverted ? 1 - value : value;
}

template <class Series>
Trace stamped_trace(std::int64_t rows, std::int64_t first_stamp,
                    std::optional<Series> TraceSeries::*member, Series&& series) {
    Trace trace;
    trace.report.rows = rows;
    TraceSeries& only = trace.series.emplace_back();
    only.start = format_timestamp(first_stamp);
    only.*member = std::forward<Series>(series);
    return trace;
}

Trace sampled_availability(const CsvScanner& csv, const AvailabilitySamples& samples,
                           bool inverted) {
    if (samples.size() < 2) {
        csv.fail_here(fmt::format("expected at least two samples, found {}", samples.size()));
    }
    const Spacing spacing = spacing_of(samples);
    Trace trace = stamped_trace(csv.rows(), samples.front().stamp_ns, &TraceSeries::availability,
                                series_of(samples, spacing.usual));
    trace.report.sampling = spacing.usual;
    add_notes(trace.report.notes, notes_on(spacing));
    if (inverted) trace.report.notes.emplace_back("polarity: 1 means unavailable");
    return trace;
}

Trace read_skynomad_csv(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions& options) {
    const std::string name = file.string();
    const bool inverted = one_means_unavailable(options.polarity, Polarity::one_is_available);
    CsvScanner csv(text, name);
    csv.expect_header(skynomad_header);
    AvailabilitySamples samples;
    while (csv.next_row(2)) add_sample(csv, 0, samples, flag(csv, 1, inverted));
    return sampled_availability(csv, samples, inverted);
}

Trace read_skypilot_strategy(std::string_view text, const std::filesystem::path& file,
                             const ReadOptions& options) {
    const std::string name = file.string();
    const bool inverted = one_means_unavailable(options.polarity, Polarity::one_is_unavailable);
    CsvScanner csv(text, name);
    AvailabilitySamples samples;
    std::int64_t next_index = 0;
    while (csv.next_row(3)) {
        const std::int64_t index = csv.whole(0, 0, trace_rows_max, "the number of the sample");
        if (!samples.empty() && index != next_index) {
            csv.fail(0, fmt::format("the next number, {}", next_index));
        }
        next_index = index + 1;
        add_sample(csv, 1, samples, flag(csv, 2, inverted));
    }
    return sampled_availability(csv, samples, inverted);
}

Trace read_stamped_price(std::string_view text, const std::filesystem::path& file,
                         const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.expect_header(price_header);
    PriceSamples samples;
    while (csv.next_row(2)) add_sample(csv, 0, samples, csv.price(1));
    if (samples.empty()) csv.fail_here("expected at least one row under the header, found none");
    return stamped_trace(csv.rows(), samples.front().stamp_ns, &TraceSeries::price,
                         series_of(samples, Duration{}));
}

// "0,2022-11-28T22:23:37.000Z,1"
bool recognises_strategy(std::string_view head, const std::filesystem::path&) {
    const std::string_view row = first_row(head);
    const std::size_t first = row.find(',');
    const std::size_t last = row.rfind(',');
    return first != std::string_view::npos && first > 0 && last > first &&
           row.find_first_not_of("0123456789") == first &&
           parse_timestamp(row.substr(first + 1, last - first - 1)).has_value();
}

}  // namespace

TraceForm skynomad_csv_form() {
    return {"skynomad_csv", "SkyNomad's CSV of samples: date,availability (1 = available)",
            [](std::string_view head, const std::filesystem::path&) {
                return first_row(head) == skynomad_header;
            },
            read_skynomad_csv};
}

TraceForm skypilot_strategy_form() {
    return {"skypilot_strategy_txt",
            "SkyPilot strategy samples: index,time,flag (1 = NOT available)", recognises_strategy,
            read_skypilot_strategy};
}

TraceForm stamped_price_form() {
    return {"stamped_price_csv", "price changes: timestamp_utc,price_usd_per_h",
            [](std::string_view head, const std::filesystem::path&) {
                return first_row(head) == price_header;
            },
            read_stamped_price};
}

}  // namespace ukemi
