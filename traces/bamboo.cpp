// bamboo.cpp — Bamboo's recorded groups: events by node, and group sizes listed every minute.
//
// bamboo_events: milliseconds,add|remove,node without a header, in order. A node is added once and
// removed only while it is there. Several events of one instant are one step.
// bamboo_counts: `YYYY-MM-DD, HH:MM:SS, count`. The listings raced when they were recorded, so that
// lines are out of order and stamps appear twice: sorted, the largest count kept, both counted.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi {

namespace {

constexpr std::int64_t millisecond = 1'000'000;

void apply_event(const CsvScanner& csv, std::set<std::string, std::less<>>& nodes) {
    const std::string_view node = csv.field(2);
    if (node.empty()) csv.fail(2, "the name of a node");
    const auto found = nodes.find(node);
    if (csv.field(1) == "add") {
        if (found != nodes.end()) csv.fail(2, "a node that is not there yet");
        if (nodes.size() >= static_cast<std::size_t>(trace_instances_max)) {
            csv.fail(2, fmt::format("at most {} nodes at a time", trace_instances_max));
        }
        nodes.emplace(node);
    } else if (csv.field(1) == "remove") {
        if (found == nodes.end()) csv.fail(2, "a node that was added before");
        nodes.erase(found);
    } else {
        csv.fail(1, "\"add\" or \"remove\"");
    }
}

Trace read_events(std::string_view text, const std::filesystem::path& file,
                  const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "bamboo_events");
    CsvScanner csv(text, name);
    std::set<std::string, std::less<>> nodes;
    SeriesBuilder<std::int32_t> builder;
    std::int64_t now = 0;            // the clock of the file starts at zero, with nothing held
    std::int64_t grid = 60 * 1'000;  // what all times are multiples of, a minute at most
    while (csv.next_row(3)) {
        const std::int64_t at = csv.whole(0, 0, trace_length_max.raw() / millisecond,
                                          "milliseconds since the start, up to 100 years");
        if (at < now) csv.fail(0, fmt::format("a time not before the row before ({})", now));
        if (at > now) {
            builder.add(Instant::at(milliseconds(now)), static_cast<std::int32_t>(nodes.size()));
            now = at;
        }
        grid = std::gcd(grid, at);
        apply_event(csv, nodes);
    }
    if (csv.rows() == 0) csv.fail_here("expected at least one event, found none");
    builder.add(Instant::at(milliseconds(now)), static_cast<std::int32_t>(nodes.size()));

    Trace trace;
    trace.report.rows = csv.rows();
    trace.report.notes.push_back(
        fmt::format("times are multiples of {:g} s: ends as much after the last event",
                    to_seconds(milliseconds(grid))));
    trace.series.emplace_back().availability =
        builder.finish(Instant::at(milliseconds(now) + milliseconds(grid)));
    return trace;
}

struct Listing {
    std::int64_t stamp_ns;
    std::int32_t count;
};

// "2021-12-10" and " 13:07:45".
std::int64_t split_timestamp(const CsvScanner& csv) {
    const auto stamp = parse_timestamp(std::string(csv.field(0)).append(csv.field(1)));
    if (!csv.field(1).starts_with(' ') || !stamp) {
        csv.fail(0, "a date and a time such as \"2021-12-10, 13:07:45\"");
    }
    return *stamp;
}

std::int32_t count_after_blank(const CsvScanner& csv) {
    std::string_view field = csv.field(2);
    if (field.starts_with(' ')) field.remove_prefix(1);
    const auto count = parse_whole(field, DecimalGrammar::relaxed);
    if (!count || *count < 0 || *count > trace_instances_max) csv.fail(2, expected_instances);
    return static_cast<std::int32_t>(*count);
}

// Sorted by time; of several with one stamp the largest.
std::vector<StampedSample<std::int32_t>> tidied(std::vector<Listing> listings,
                                                std::vector<std::string>& repairs) {
    std::size_t backwards = 0;
    for (std::size_t i = 1; i < listings.size(); ++i) {
        if (listings[i].stamp_ns < listings[i - 1].stamp_ns) ++backwards;
    }
    if (backwards > 0) repairs.push_back(fmt::format("{} rows out of order: sorted", backwards));
    std::sort(listings.begin(), listings.end(), [](const Listing& a, const Listing& b) {
        return std::tie(a.stamp_ns, a.count) < std::tie(b.stamp_ns, b.count);
    });
    std::vector<StampedSample<std::int32_t>> samples;
    for (const Listing& listing : listings) {
        if (!samples.empty() && samples.back().stamp_ns == listing.stamp_ns) {
            samples.back().value = listing.count;  // in order of count: the last is the largest
        } else {
            samples.push_back({listing.stamp_ns, listing.count});
        }
    }
    const std::size_t merged = listings.size() - samples.size();
    if (merged > 0) {
        repairs.push_back(fmt::format("{} rows with a stamp seen before: largest kept", merged));
    }
    return samples;
}

Trace read_counts(std::string_view text, const std::filesystem::path& file,
                  const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "bamboo_counts");
    CsvScanner csv(text, name);
    std::vector<Listing> listings;
    while (csv.next_row(3)) {
        const std::int64_t stamp = split_timestamp(csv);
        if (!listings.empty() &&
            std::abs(stamp - listings.front().stamp_ns) > trace_length_max.raw() / 2) {
            csv.fail(0, "a time within 50 years of the first");
        }
        listings.push_back({stamp, count_after_blank(csv)});
    }
    Trace trace;
    trace.report.rows = csv.rows();
    const auto samples = tidied(std::move(listings), trace.report.repairs);
    if (samples.size() < 2) {
        csv.fail_here(fmt::format("expected at least two times, found {}", samples.size()));
    }
    const Spacing spacing = spacing_of(samples);
    trace.report.sampling = spacing.usual;
    add_notes(trace.report.notes, notes_on(spacing));
    TraceSeries& series = trace.series.emplace_back();
    series.start = format_timestamp(samples.front().stamp_ns);
    series.availability = series_of(samples, spacing.usual);
    return trace;
}

// "3660000,add,node40"
bool recognises_events(std::string_view head, const std::filesystem::path&) {
    const std::size_t comma = head.find_first_not_of("0123456789");
    if (comma == std::string_view::npos || comma == 0) return false;
    const std::string_view rest = head.substr(comma);
    return rest.starts_with(",add,") || rest.starts_with(",remove,");
}

// "2021-12-10, 13:07:45, 80"
bool recognises_counts(std::string_view head, const std::filesystem::path&) {
    return head.size() > 20 && head.substr(10, 2) == ", " && head.substr(20, 1) == "," &&
           parse_timestamp(std::string(head.substr(0, 10)).append(head.substr(11, 9))).has_value();
}

}  // namespace

TraceForm bamboo_events_form() {
    return {"bamboo_events", "Bamboo's group events: milliseconds,add|remove,node",
            recognises_events, read_events};
}

TraceForm bamboo_counts_form() {
    return {"bamboo_counts", "Bamboo's group sizes: date, time, count", recognises_counts,
            read_counts};
}

}  // namespace ukemi
