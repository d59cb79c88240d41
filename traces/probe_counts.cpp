// probe_counts.cpp — SkyNomad's launch probes: how many of the instances asked for could be had.
//
// One row a probe and zone, the zones interleaved; each zone is a series, at the scheduled times.
// A fall means "fewer would launch now", not that held instances were lost. A probe that failed for
// another reason than capacity says nothing: it is left out, counted, and the value before is held.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi {

namespace {

constexpr std::string_view header =
    "run_id,scheduled_utc,started_utc,ended_utc,probe_duration_s,status,zone,requested,created,"
    "capacity_exhausted_detected,n_ids";
enum Column : std::size_t { scheduled = 1, status = 5, zone = 6, requested = 7, created = 8 };
constexpr std::size_t columns = 11;

using Zones = std::map<std::string, std::vector<StampedSample<std::int32_t>>, std::less<>>;

Zones read_zones(CsvScanner& csv, std::size_t& failed) {
    Zones zones;
    while (csv.next_row(columns)) {
        if (csv.field(zone).empty()) csv.fail(zone, "the name of a zone");
        const std::int64_t stamp = csv.timestamp(scheduled);
        const std::int32_t asked = csv.count(requested);
        const std::int32_t got = csv.count(created);
        if (got > asked) csv.fail(created, fmt::format("at most the {} requested", asked));
        if (csv.field(status) != "success") {
            ++failed;
            continue;
        }
        auto found = zones.find(csv.field(zone));
        if (found == zones.end()) found = zones.emplace(csv.field(zone), 0).first;
        auto& samples = found->second;
        if (!samples.empty()) {
            csv.check_order(scheduled, stamp, samples.back().stamp_ns, samples.front().stamp_ns);
        }
        samples.push_back({stamp, got});
    }
    return zones;
}

Trace read_probe_counts(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions& options) {
    const std::string name = file.string();
    refuse_inverted_counts(options, name, "skynomad_probe_counts");
    CsvScanner csv(text, name);
    csv.expect_header(header);
    std::size_t failed = 0;
    const Zones zones = read_zones(csv, failed);
    if (zones.empty()) csv.fail_here("expected at least one successful probe, found none");

    Trace trace;
    trace.report.rows = csv.rows();
    trace.report.notes.push_back(fmt::format("{} zones of launch probes", zones.size()));
    for (const auto& [zone_name, samples] : zones) {
        if (samples.size() < 2) {
            csv.fail_here(fmt::format("expected at least two probes of zone {}, found one",
                                      ukemi::quoted(zone_name)));
        }
        const Spacing spacing = spacing_of(samples);
        trace.report.sampling = std::max(trace.report.sampling, spacing.usual);
        add_notes(trace.report.notes, notes_on(spacing));
        TraceSeries& series = trace.series.emplace_back();
        series.zone = zone_name;
        series.start = format_timestamp(samples.front().stamp_ns);
        series.availability = series_of(samples, spacing.usual);
    }
    if (failed > 0) {
        trace.report.repairs.push_back(fmt::format("{} failed probes left out", failed));
    }
    return trace;
}

}  // namespace

TraceForm probe_counts_form() {
    return {"skynomad_probe_counts", "SkyNomad's launch probes: one row a probe and zone",
            [](std::string_view head, const std::filesystem::path&) {
                return first_row(head).starts_with("run_id,scheduled_utc,");
            },
            read_probe_counts};
}

}  // namespace ukemi
