// launch_log.cpp — which instances could be launched at one moment, one file a moment.
//
// "Zone: Z, GPU type: T, Number of GPUs: N, Price per hour: $P" (training_on_a_dime, 2020); the
// file's name is the time. A line means that N GPUs could be had there, then. Several files are one
// history: what a file does not list could not be had at its time. Each (zone, N × T) is a series
// of zeros and ones with its prices; it ends one usual gap after the last file.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

struct Offer {
    std::string zone;
    std::string instance_type;  // "4xv100"
    friend auto operator<=>(const Offer&, const Offer&) = default;
};
using Offers = std::map<Offer, Price>;

// What follows "label: " in a field.
std::string_view value_of(const CsvScanner& csv, std::size_t column, std::string_view label) {
    std::string_view field = csv.field(column);
    if (!field.starts_with(label)) csv.fail(column, fmt::format("\"{}…\"", label));
    field.remove_prefix(label.size());
    return field;
}

Offers read_offers(const TracePage& page, ImportReport& report) {
    const std::string name = page.file.string();
    CsvScanner csv(page.text, name);
    Offers offers;
    while (csv.next_row(4)) {
        const std::string_view zone = value_of(csv, 0, "Zone: ");
        std::string_view model = value_of(csv, 1, "GPU type: ");
        if (model.starts_with("nvidia-tesla-")) model.remove_prefix(13);
        const auto number = parse_whole(value_of(csv, 2, "Number of GPUs: "), DecimalGrammar::json);
        if (!number || *number < 1 || *number > 1000) csv.fail(2, "a number of GPUs up to 1000");
        const auto price =
            parse_decimal(value_of(csv, 3, "Price per hour: $"), 9, DecimalGrammar::json);
        if (!price || *price < 0 || *price > trace_price_max.raw()) csv.fail(3, expected_price);
        offers[{std::string(zone), fmt::format("{}x{}", *number, model)}] = Price::of(*price);
        if (offers.size() > 10'000) csv.fail_here("expected at most 10000 offers in a file");
    }
    ImportReport one;
    csv.add_to(one);
    report.rows += one.rows;
    add_notes(report.repairs, one.repairs);
    return offers;
}

// The time that the file is called by, if it is.
std::optional<std::int64_t> time_of_name(const std::filesystem::path& file) {
    return parse_timestamp(trace_name(file));
}

std::map<std::int64_t, Offers> by_time(std::span<const TracePage> pages, ImportReport& report) {
    std::map<std::int64_t, Offers> history;
    for (const TracePage& page : pages) {
        const auto stamp = time_of_name(page.file);
        if (!stamp && pages.size() > 1) {
            throw InputError(
                page.file.string(), "",
                "expected a name that is a time, such as 2020-02-26T17:03:53.000Z.out");
        }
        if (!history.emplace(stamp.value_or(0), read_offers(page, report)).second) {
            throw InputError(page.file.string(), "", "expected one file for each time");
        }
    }
    const std::int64_t length = history.rbegin()->first - history.begin()->first;
    if (length > trace_length_max.raw()) {
        throw InputError(pages[0].file.string(), "", "expected files within 100 years");
    }
    return history;
}

TraceSeries series_of_offer(const Offer& offer, const std::map<std::int64_t, Offers>& history,
                            Duration after_last) {
    std::vector<StampedSample<std::int32_t>> could;
    std::vector<StampedSample<Price>> prices;
    for (const auto& [stamp, offers] : history) {
        const auto found = offers.find(offer);
        could.push_back({stamp, found == offers.end() ? 0 : 1});
        if (found != offers.end()) {
            // Before it was first offered, it would have cost what it costs then.
            prices.push_back({prices.empty() ? history.begin()->first : stamp, found->second});
        }
    }
    TraceSeries series;
    series.zone = offer.zone;
    series.instance_type = offer.instance_type;
    series.availability = series_of(could, after_last);
    SeriesBuilder<Price> builder;
    for (const auto& [stamp, price] : prices) {
        builder.add(Instant::at(nanoseconds(stamp - history.begin()->first)), price);
    }
    series.price = builder.finish(series.availability->end);
    return series;
}

Trace read_launch_pages(std::span<const TracePage> pages, const ReadOptions& options) {
    refuse_inverted_counts(options, pages[0].file.string(), "launch_log");
    Trace trace;
    const auto history = by_time(pages, trace.report);
    std::set<Offer> known;
    std::vector<std::int64_t> stamps;
    for (const auto& [stamp, offers] : history) {
        stamps.push_back(stamp);
        for (const auto& [offer, price] : offers) known.insert(offer);
    }
    if (known.empty()) fail_in(pages[0], 0, "expected at least one offer, found none");
    const Spacing spacing = spacing_of(stamps);
    trace.report.sampling = spacing.usual;
    note_spacing(trace.report, spacing);
    trace.report.notes.push_back(
        fmt::format("{} launch tries at {} times", known.size(), history.size()));
    for (const Offer& offer : known) {
        trace.series.push_back(series_of_offer(offer, history, spacing.usual));
        if (time_of_name(pages[0].file)) {
            trace.series.back().start = format_timestamp(stamps.front());
        }
    }
    return trace;
}

Trace read_launches(std::string_view text, const std::filesystem::path& file,
                    const ReadOptions& options) {
    const TracePage page{text, file};
    return read_launch_pages({&page, 1}, options);
}

}  // namespace

TraceForm launch_log_form() {
    return {"launch_log", "what could be launched at the time in the file's name: Zone: …, GPU …",
            [](std::string_view head, const std::filesystem::path&) {
                const std::string_view row = first_row(head);
                return row.starts_with("Zone: ") && row.find("Number of GPUs: ") != row.npos;
            },
            read_launches, read_launch_pages};
}

}  // namespace ukemi::traces
