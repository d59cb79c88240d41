// parcae.cpp — Parcae's segments of a group: what came and went in every interval.
//
// parcae_segment_txt: a JSON list a line, [ms, "add|remove|no-op|migration", {"nodes": […],
// "duration": ms}]; the nodes have names. A first line that is one number is the interval and is
// not read. parcae_intervals_json: [{"interval": [held before, added, removed], "duration": ms},
// …]. The strategies beside them are results, not the market: they are not read.
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_text.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int64_t milliseconds_max = trace_length_max.raw() / 1'000'000;
constexpr std::string_view expected_milliseconds = "milliseconds, up to 100 years";

struct Line {
    std::int64_t at_ms = 0;
    std::string kind;
    std::vector<std::string> nodes;
    std::int64_t duration_ms = 0;
};

void read_details(JsonScanner& json, Line& line) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key == "duration") {
            line.duration_ms = json.whole(0, milliseconds_max, expected_milliseconds);
        } else if (key == "nodes") {
            json.begin_array();
            while (json.next_element()) line.nodes.emplace_back(json.text());
        } else {
            json.skip_value();
        }
    }
}

Line read_line(JsonScanner& json) {
    Line line;
    json.begin_array();
    const std::size_t begin = json.offset();
    if (!json.next_element()) json.fail_at(begin, "expected [ms, \"add|remove|no-op\", {…}]");
    line.at_ms = json.whole(0, milliseconds_max, expected_milliseconds);
    if (!json.next_element()) json.fail_at(begin, "expected \"add\", \"remove\" or \"no-op\"");
    line.kind = json.text();
    if (line.kind != "add" && line.kind != "remove" && line.kind != "no-op" &&
        line.kind != "migration") {
        json.fail("expected \"add\", \"remove\", \"migration\" or \"no-op\"");
    }
    if (json.next_element()) read_details(json, line);
    while (json.next_element()) json.skip_value();
    return line;
}

// Whose nodes are there.
class Members {
public:
    Members(const TracePage& page, TraceSeries& series) : page_(page), series_(series) {}

    void apply(const Line& line, std::size_t offset) {
        if (!line.nodes.empty() && line.kind != "add" && line.kind != "remove") {
            fail_in(page_, offset, "expected nodes only where some are added or removed");
        }
        for (const std::string& node : line.nodes) {
            const bool joins = line.kind == "add";
            const bool changed = joins ? nodes_.insert(node).second : nodes_.erase(node) > 0;
            if (!changed) {
                fail_in(page_, offset,
                        fmt::format("expected a node that is {}there, found {}",
                                    joins ? "not " : "", ukemi::quoted(node)));
            }
            if (nodes_.size() > static_cast<std::size_t>(trace_instances_max)) {
                fail_in(page_, offset, "expected at most 1000000 nodes at a time");
            }
            series_.nodes.push_back({Instant::at(milliseconds(line.at_ms)), joins, node});
        }
    }
    std::int32_t count() const { return static_cast<std::int32_t>(nodes_.size()); }

private:
    const TracePage& page_;
    TraceSeries& series_;
    std::set<std::string> nodes_;
};

Trace read_segment(std::string_view text, const std::filesystem::path& file,
                   const ReadOptions& options) {
    const TracePage page{text, file};
    refuse_inverted_counts(options, file.string(), "parcae_segment_txt");
    Trace trace;
    TraceSeries& series = trace.series.emplace_back();
    Members members(page, series);
    SeriesBuilder<std::int32_t> builder;
    std::int64_t now_ms = 0;
    std::int64_t end_ms = 0;
    for (const JsonDocument& document : json_documents(text)) {
        const auto offset = static_cast<std::size_t>(document.text.data() - text.data());
        Line line;
        std::string_view list = document.text;
        // The interval may stand before the first list.
        if (trace.report.rows == 0) {
            list.remove_prefix(std::min(list.find('['), list.size()));
            if (list.empty()) list = document.text;
        }
        read_document(page, {list, document.line},
                      [&](JsonScanner& json) { line = read_line(json); });
        if (++trace.report.rows > trace_rows_max) fail_in(page, offset, "expected fewer lines");
        if (line.at_ms < now_ms) fail_in(page, offset, "expected times that do not go back");
        if (line.at_ms > now_ms) {
            builder.add(Instant::at(milliseconds(now_ms)), members.count());
            now_ms = line.at_ms;
        }
        members.apply(line, offset);
        end_ms = std::min(line.at_ms + line.duration_ms, milliseconds_max);
        trace.report.sampling = std::max(trace.report.sampling, milliseconds(line.duration_ms));
    }
    builder.add(Instant::at(milliseconds(now_ms)), members.count());
    series.availability = builder.finish(Instant::at(milliseconds(std::max(end_ms, now_ms))));
    return trace;
}

struct Interval {
    std::vector<std::int32_t> counts;  // before, added, removed
    std::int64_t duration_ms = 0;
};

Interval read_interval(JsonScanner& json) {
    Interval interval;
    std::string_view key;
    json.begin_object();
    const std::size_t begin = json.offset();
    while (json.next_key(key)) {
        if (key == "interval") {
            interval.counts.clear();
            json.whole_numbers(trace_instances_max, expected_instances, interval.counts, 4);
        } else if (key == "duration") {
            interval.duration_ms = json.whole(1, milliseconds_max, expected_milliseconds);
        } else {
            json.skip_value();
        }
    }
    if (interval.counts.size() != 3 || interval.duration_ms == 0) {
        json.fail_at(begin, "expected \"interval\": [before, added, removed] and \"duration\"");
    }
    return interval;
}

Trace read_intervals(std::string_view text, const std::filesystem::path& file,
                     const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "parcae_intervals_json");
    JsonScanner json(text, name);
    Trace trace;
    SeriesBuilder<std::int32_t> builder;
    std::int64_t at_ms = 0;
    std::int64_t held = 0;
    std::int64_t unexplained = 0;
    json.begin_array();
    while (json.next_element()) {
        const Interval interval = read_interval(json);
        if (trace.report.rows > 0 && interval.counts[0] != held) ++unexplained;
        held = std::int64_t{interval.counts[0]} + interval.counts[1] - interval.counts[2];
        if (held < 0 || held > trace_instances_max) json.fail("expected a count that is possible");
        builder.add(Instant::at(milliseconds(at_ms)), static_cast<std::int32_t>(held));
        at_ms += interval.duration_ms;
        if (at_ms > milliseconds_max) json.fail("expected at most 100 years");
        if (++trace.report.rows > trace_rows_max) json.fail("expected fewer intervals");
        trace.report.sampling = std::max(trace.report.sampling, milliseconds(interval.duration_ms));
    }
    json.finish();
    if (builder.empty()) json.fail_at(0, "expected at least one interval, found none");
    if (unexplained > 0) {
        trace.report.notes.push_back(fmt::format(
            "{} intervals begin with another count than the one before ended with", unexplained));
    }
    trace.series.emplace_back().availability = builder.finish(Instant::at(milliseconds(at_ms)));
    return trace;
}

// [0, "add", {"nodes":
bool recognises_segment(std::string_view head, const std::filesystem::path&) {
    const std::size_t list = head.find('[');
    if (list == std::string_view::npos || list > 16) return false;
    if (head.substr(0, list).find_first_not_of("0123456789. \r\n") != std::string_view::npos) {
        return false;
    }
    const std::string_view row = head.substr(list, 200);
    return row.find("\"add\"") != row.npos || row.find("\"no-op\"") != row.npos ||
           row.find("\"remove\"") != row.npos;
}

}  // namespace

TraceForm parcae_segment_form() {
    return {"parcae_segment_txt",
            "Parcae's segments: [ms, \"add|remove|no-op\", {nodes, …}] a line", recognises_segment,
            read_segment};
}

TraceForm parcae_intervals_form() {
    return {"parcae_intervals_json", "Parcae's intervals: [{\"interval\": [before, added, removed]",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) && head.find('[') < head.find('{') &&
                       has_json_key(head, "interval") && has_json_key(head, "duration");
            },
            read_intervals};
}

}  // namespace ukemi::traces
