// probe_counts.cpp — SkyNomad's launch probes: how many of the instances asked for could be had.
//
// skynomad_probe_counts: one row a probe and zone, the zones interleaved, columns by name.
// skynomad_probe_round_json: a file a round, {"scheduled_at": …, "zone_results": {zone:
// {"instances_requested": 16, "instances_created": 9}}}; many files are one history.
// Each zone is a series, at the scheduled times. A fall means "fewer would launch now", not that
// held instances were lost. A probe that failed for another reason than capacity says nothing: it
// is left out, counted, and the value before is held.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/plain_text.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/ordered_samples.hpp"

namespace ukemi::traces {

namespace {

using ProbedZones = std::map<std::string, std::vector<PlacedSample<std::int32_t>>, std::less<>>;

void refuse_more_than_asked(const CsvScanner& csv, std::size_t column, std::int32_t asked) {
    if (csv.count(column) > asked) csv.fail(column, fmt::format("at most the {} requested", asked));
}

ProbedZones read_zones(CsvScanner& csv, std::size_t& failed) {
    csv.read_header();
    const std::size_t scheduled = csv.column("scheduled_utc");
    const std::size_t zone = csv.column("zone");
    const std::size_t created = csv.column("created");
    const std::size_t requested = csv.column_if_present("requested");
    const std::size_t status = csv.column_if_present("status");
    for (const std::string_view name : {"run_id", "started_utc", "ended_utc", "probe_duration_s",
                                        "capacity_exhausted_detected", "n_ids"}) {
        csv.column_if_present(name);  // known, and nothing for a series
    }
    ProbedZones zones;
    while (csv.next_row()) {
        if (csv.field(zone).empty()) csv.fail(zone, "the name of a zone");
        const std::int64_t stamp = csv.timestamp(scheduled);
        const std::int32_t got = csv.count(created);
        if (requested != CsvScanner::no_column) {
            refuse_more_than_asked(csv, created, csv.count(requested));
        }
        if (status != CsvScanner::no_column && csv.field(status) != "success") {
            ++failed;
            continue;
        }
        auto found = zones.find(csv.field(zone));
        if (found == zones.end()) found = zones.try_emplace(std::string(csv.field(zone))).first;
        found->second.push_back({stamp, got, csv.row_offset()});
    }
    return zones;
}

// `at_once` is the interval to go on with where a zone has one sample only; zero: refuse it.
template <class FailAt>
Trace trace_of(ProbedZones zones, Duration at_once, FailAt fail_at) {
    Trace trace;
    trace.report.notes.push_back(fmt::format("{} zones of launch probes", zones.size()));
    OrderRepairs repairs;
    for (auto& [zone_name, rows] : zones) {
        const PlacedSample<std::int32_t> first = rows.front();
        const auto samples = in_order(std::move(rows), "count", repairs, fail_at);
        if (samples.size() < 2 && at_once == Duration{}) {
            fail_at(first.page, first.offset,
                    fmt::format("expected at least two probes of zone {}, found one",
                                ukemi::quoted(zone_name)));
        }
        Spacing spacing = spacing_of(samples);
        if (samples.size() < 2) spacing.usual = at_once;
        trace.report.sampling = std::max(trace.report.sampling, spacing.usual);
        note_spacing(trace.report, spacing);
        TraceSeries& series = trace.series.emplace_back();
        series.zone = zone_name;
        series.start = format_timestamp(samples.front().stamp_ns);
        series.availability = series_of(samples, spacing.usual);
    }
    repairs.add_to(trace.report.repairs);
    return trace;
}

void report_failed(Trace& trace, std::size_t failed) {
    if (failed == 0) return;
    trace.report.repairs.push_back(fmt::format("{} failed probes left out", failed));
}

Trace read_probe_counts(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "skynomad_probe_counts");
    CsvScanner csv(text, name);
    std::size_t failed = 0;
    ProbedZones zones = read_zones(csv, failed);
    if (zones.empty()) csv.fail_here("expected at least one successful probe, found none");
    Trace trace = trace_of(std::move(zones), Duration{},
                           [&](std::size_t, std::size_t offset, std::string_view problem) {
                               csv.fail_at(offset, problem);
                           });
    csv.add_to(trace.report);
    report_failed(trace, failed);
    return trace;
}

struct Round {
    std::optional<std::int64_t> scheduled;
    Duration interval;
    bool succeeded = true;
    std::vector<std::pair<std::string, std::int32_t>> created;
};

void read_results(JsonScanner& json, Round& round) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        std::string zone(key);
        std::int64_t created = -1;
        std::int64_t requested = trace_instances_max;
        json.begin_object();
        while (json.next_key(key)) {
            if (key == "instances_created") {
                created = json.whole(0, trace_instances_max, expected_instances);
            } else if (key == "instances_requested") {
                requested = json.whole(0, trace_instances_max, expected_instances);
            } else {
                json.skip_value();
            }
        }
        if (created < 0) json.fail("expected the key \"instances_created\"");
        if (created > requested) json.fail("expected at most as many created as requested");
        if (round.created.size() >= 10'000) json.fail("expected at most 10000 zones");
        round.created.emplace_back(std::move(zone), static_cast<std::int32_t>(created));
    }
}

Round read_round(JsonScanner& json) {
    Round round;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key == "scheduled_at") {
            round.scheduled = parse_timestamp(json.text());
            if (!round.scheduled) json.fail("expected a time with an offset from UTC");
            // Rounds are a timer's: the milliseconds are how late it was.
            *round.scheduled -= *round.scheduled % 1'000'000'000;
        } else if (key == "interval_sec") {
            round.interval = nanoseconds(json.decimal(9, 1, trace_gap_max.raw(), expected_gap));
        } else if (key == "status") {
            round.succeeded = json.text() == "success";
        } else if (key == "zone_results") {
            read_results(json, round);
        } else {
            json.skip_value();
        }
    }
    if (!round.scheduled) json.fail_at(0, "expected the key \"scheduled_at\"");
    return round;
}

Trace read_round_pages(std::span<const TracePage> pages, const ReadOptions& options) {
    refuse_inverted_counts(options, pages[0].file.string(), "skynomad_probe_round_json");
    ProbedZones zones;
    Duration interval;
    std::size_t failed = 0;
    std::int64_t rounds = 0;
    for (std::uint32_t page = 0; page < pages.size(); ++page) {
        const std::string_view text = pages[page].text;
        for (const JsonDocument& document : json_documents(text)) {
            Round round;
            read_document(pages[page], document,
                          [&](JsonScanner& json) { round = read_round(json); });
            ++rounds;
            interval = std::max(interval, round.interval);
            if (!round.succeeded) {
                failed += round.created.size();
                continue;
            }
            const auto offset = static_cast<std::size_t>(document.text.data() - text.data());
            for (auto& [zone, created] : round.created) {
                zones[zone].push_back({*round.scheduled, created, offset, page});
            }
        }
    }
    if (zones.empty()) fail_in(pages[0], 0, "expected at least one successful probe, found none");
    if (interval == Duration{}) interval = options.gap;
    Trace trace = trace_of(std::move(zones), interval,
                           [&](std::size_t page, std::size_t at, std::string_view problem) {
                               fail_in(pages[page], at, problem);
                           });
    trace.report.rows = rounds;
    report_failed(trace, failed);
    return trace;
}

Trace read_one_round(std::string_view text, const std::filesystem::path& file,
                     const ReadOptions& options) {
    const TracePage page{text, file};
    return read_round_pages({&page, 1}, options);
}

}  // namespace

TraceForm probe_counts_form() {
    return {"skynomad_probe_counts", "SkyNomad's launch probes: one row a probe and zone",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {"scheduled_utc", "zone", "created"});
            },
            read_probe_counts};
}

TraceForm probe_round_form() {
    return {"skynomad_probe_round_json", "one round of launch probes a file: zone_results, …",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) && (has_json_key(head, "zone_results") ||
                                             has_json_key(head, "total_instances_requested"));
            },
            read_one_round, read_round_pages};
}

}  // namespace ukemi::traces
