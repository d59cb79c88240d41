// price_tracker.cpp — what a GPU costs an hour over many providers, a JSON object a snapshot.
//
// {"timestamp": …, "gpu_type": "H100_80GB", "socket_type": "SXM5", "price_stats": {"median": …}, …}
// (gpu-price-tracker, 2025). The median over all offers is kept, spot and on-demand mixed, because
// that is what every snapshot has; a snapshot without prices is left out. It ends one usual gap
// after the last one.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/ordered_samples.hpp"

namespace ukemi::traces {

namespace {

using TrackedRows = std::vector<PlacedSample<Price>>;

struct Snapshot {
    std::optional<std::int64_t> stamp;
    std::string gpu;
    std::string socket;
    std::optional<Price> median;
};

std::string text_or_nothing(JsonScanner& json) {
    if (json.peek() == JsonScanner::Kind::null) {
        json.null();
        return {};
    }
    return std::string(json.text());
}

void read_prices(JsonScanner& json, Snapshot& snapshot) {
    if (json.peek() == JsonScanner::Kind::null) return json.null();
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key != "median") {
            json.skip_value();
        } else if (json.peek() == JsonScanner::Kind::null) {
            json.null();
        } else {
            snapshot.median = Price::of(json.decimal(9, 0, trace_price_max.raw(), expected_price));
        }
    }
}

Snapshot read_snapshot(JsonScanner& json) {
    Snapshot snapshot;
    std::string_view key;
    json.begin_object();
    const std::size_t begin = json.offset();
    while (json.next_key(key)) {
        if (key == "timestamp") {
            snapshot.stamp = parse_timestamp(json.text());
            if (!snapshot.stamp) json.fail("expected a time such as 2025-10-19T21:01:58+00:00");
        } else if (key == "gpu_type") {
            snapshot.gpu = json.text();
        } else if (key == "socket_type") {
            snapshot.socket = text_or_nothing(json);
        } else if (key == "price_stats") {
            read_prices(json, snapshot);
        } else {
            json.skip_value();
        }
    }
    if (!snapshot.stamp) json.fail_at(begin, "expected a snapshot with the key \"timestamp\"");
    if (snapshot.gpu.empty()) json.fail_at(begin, "expected the key \"gpu_type\"");
    return snapshot;
}

Trace read_price_tracker(std::string_view text, const std::filesystem::path& file,
                         const ReadOptions&) {
    const TracePage page{text, file};
    std::map<std::string, TrackedRows> types;
    Trace trace;
    std::int64_t without_price = 0;
    for (const JsonDocument& document : json_documents(text)) {
        Snapshot snapshot;
        read_document(page, document, [&](JsonScanner& json) { snapshot = read_snapshot(json); });
        if (++trace.report.rows > trace_rows_max) fail_in(page, 0, "expected fewer snapshots");
        if (!snapshot.median) {
            ++without_price;
            continue;
        }
        const auto offset = static_cast<std::size_t>(document.text.data() - text.data());
        if (!snapshot.socket.empty()) snapshot.gpu += "_" + snapshot.socket;
        types[snapshot.gpu].push_back({*snapshot.stamp, *snapshot.median, offset});
    }
    if (types.empty()) fail_in(page, 0, "expected at least one snapshot with prices, found none");
    OrderRepairs repairs;
    for (auto& [type, rows] : types) {
        const auto samples = in_order(std::move(rows), "price", repairs,
                                      [&](std::size_t, std::size_t at, std::string_view problem) {
                                          fail_in(page, at, problem);
                                      });
        const Spacing spacing = spacing_of(samples);
        trace.report.sampling = std::max(trace.report.sampling, spacing.usual);
        note_spacing(trace.report, spacing);
        TraceSeries& series = trace.series.emplace_back();
        series.zone = "all-providers";
        series.instance_type = type;
        series.start = format_timestamp(samples.front().stamp_ns);
        series.price = series_of(samples, spacing.usual);
    }
    trace.report.notes.emplace_back("the median of all offers, spot and on-demand mixed");
    if (without_price > 0) {
        trace.report.repairs.push_back(
            fmt::format("{} snapshots without prices left out", without_price));
    }
    repairs.add_to(trace.report.repairs);
    return trace;
}

}  // namespace

TraceForm price_tracker_form() {
    return {"gpu_price_tracker_jsonl", "snapshots of many providers' prices, a JSON object a line",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) && has_json_key(head, "gpu_type") &&
                       has_json_key(head, "price_stats");
            },
            read_price_tracker};
}

}  // namespace ukemi::traces
