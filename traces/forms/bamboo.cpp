// bamboo.cpp — Bamboo's recorded groups: events by node, and group sizes listed every minute.
//
// bamboo_events: milliseconds,add|remove,node without a header, in order. A node is added once and
// removed only while it is there. Several events of one instant are one step. The names of the
// nodes are kept beside the counts, and how long each stayed.
// bamboo_counts: `YYYY-MM-DD, HH:MM:SS, count`. The listings raced when they were recorded, so that
// lines are out of order and stamps appear twice: sorted, the largest count kept, both counted.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int64_t millisecond = 1'000'000;

// Who is in the group, since when; what happened to it goes to the trace.
class BambooGroup {
public:
    explicit BambooGroup(Trace& trace) : trace_(trace), series_(trace.series.emplace_back()) {}

    void apply(const CsvScanner& csv, Instant now) {
        const std::string_view node = csv.field(2);
        if (node.empty()) csv.fail(2, "the name of a node");
        const auto found = nodes_.find(node);
        const bool joins = csv.field(1) == "add";
        if (joins) {
            if (found != nodes_.end()) csv.fail(2, "a node that is not there yet");
            if (nodes_.size() >= static_cast<std::size_t>(trace_instances_max)) {
                csv.fail(2, fmt::format("at most {} nodes at a time", trace_instances_max));
            }
            nodes_.emplace(node, now);
        } else if (csv.field(1) == "remove") {
            if (found == nodes_.end()) csv.fail(2, "a node that was added before");
            add_lifetime(now - found->second, true);
            nodes_.erase(found);
        } else {
            csv.fail(1, "\"add\" or \"remove\"");
        }
        series_.nodes.push_back({now, joins, std::string(node)});
    }

    std::int32_t count() const { return static_cast<std::int32_t>(nodes_.size()); }

    void end(Instant end) {
        for (const auto& [node, since] : nodes_) add_lifetime(end - since, false);
    }

private:
    void add_lifetime(Duration lasted, bool was_lost) {
        trace_.lifetimes.push_back({"", "", "", lasted, was_lost});
    }

    Trace& trace_;
    TraceSeries& series_;
    std::map<std::string, Instant, std::less<>> nodes_;
};

Trace read_events(std::string_view text, const std::filesystem::path& file,
                  const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "bamboo_events");
    CsvScanner csv(text, name);
    Trace trace;
    BambooGroup group(trace);
    SeriesBuilder<std::int32_t> builder;
    std::int64_t now = 0;            // the clock of the file starts at zero, with nothing held
    std::int64_t grid = 60 * 1'000;  // what all times are multiples of, a minute at most
    while (csv.next_row(3, 100)) {
        const std::int64_t at = csv.whole(0, 0, trace_length_max.raw() / millisecond,
                                          "milliseconds since the start, up to 100 years");
        if (at < now) csv.fail(0, fmt::format("a time not before the row before ({})", now));
        if (at > now) {
            builder.add(Instant::at(milliseconds(now)), group.count());
            now = at;
        }
        grid = std::gcd(grid, at);
        group.apply(csv, Instant::at(milliseconds(at)));
    }
    if (csv.rows() == 0) csv.fail_here("expected at least one event, found none");
    builder.add(Instant::at(milliseconds(now)), group.count());

    csv.add_to(trace.report);
    trace.report.notes.push_back(
        fmt::format("times are multiples of {:g} s: ends as much after the last event",
                    to_seconds(milliseconds(grid))));
    const Instant end = Instant::at(milliseconds(now) + milliseconds(grid));
    group.end(end);
    trace.series.front().availability = builder.finish(end);
    return trace;
}

struct Listing {
    std::int64_t stamp_ns;
    std::int32_t count;
};

// "2021-12-10" and "13:07:45".
std::int64_t split_timestamp(const CsvScanner& csv) {
    const auto stamp = parse_timestamp(fmt::format("{} {}", csv.field(0), csv.field(1)));
    if (!stamp) {
        csv.fail(0, "a date and a time such as \"2021-12-10, 13:07:45\"");
    }
    return *stamp;
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
    while (csv.next_row(3, 100)) {
        const std::int64_t stamp = split_timestamp(csv);
        if (!listings.empty() &&
            std::abs(stamp - listings.front().stamp_ns) > trace_length_max.raw() / 2) {
            csv.fail(0, "a time within 50 years of the first");
        }
        listings.push_back({stamp, csv.count(2)});
    }
    Trace trace;
    csv.add_to(trace.report);
    const auto samples = tidied(std::move(listings), trace.report.repairs);
    if (samples.size() < 2) {
        csv.fail_here(fmt::format("expected at least two times, found {}", samples.size()));
    }
    const Spacing spacing = spacing_of(samples);
    trace.report.sampling = spacing.usual;
    note_spacing(trace.report, spacing);
    TraceSeries& series = trace.series.emplace_back();
    series.start = format_timestamp(samples.front().stamp_ns);
    series.availability = series_of(samples, spacing.usual);
    return trace;
}

// "3660000,add,node40"
bool recognises_events(std::string_view head, const std::filesystem::path&) {
    const std::vector<std::string> fields = first_fields(head);
    return fields.size() >= 3 && !fields[0].empty() &&
           fields[0].find_first_not_of("0123456789") == std::string::npos &&
           (fields[1] == "add" || fields[1] == "remove");
}

// "2021-12-10, 13:07:45, 80"
bool recognises_counts(std::string_view head, const std::filesystem::path&) {
    const std::vector<std::string> fields = first_fields(head);
    return fields.size() >= 3 && fields[0].size() == 10 &&
           parse_timestamp(fmt::format("{} {}", fields[0], fields[1])).has_value();
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

}  // namespace ukemi::traces
