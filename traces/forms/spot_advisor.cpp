// spot_advisor.cpp — how often AWS says that it takes instances back, in bands a month.
//
// {"ranges": [{"index": 0, "label": "<5%", "max": 5}, …],
//  "spot_advisor": {region: {"Linux": {type: {"r": band, "s": savings %}}}}, …}, or our own CSV of
// the same. Monthly shares of instances, not rates an hour: a prior, never a replayed series.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/json_documents.hpp"

namespace ukemi::traces {

namespace {

constexpr std::size_t bands_max = 1'000'000;
constexpr std::string_view expected_percent = "a whole number of percent from 0 to 100";
constexpr std::int64_t savings_min = -100'000;  // spot has been dearer than on-demand
constexpr std::string_view expected_savings = "a whole number of percent saved, at most 100";
constexpr std::string_view csv_header_first = "interrupted_percent_min";

struct Range {
    std::int32_t index = -1;
    std::int32_t percent_max = -1;
};

// Where a band begins, only the label says ("5-10%"): where the one before ends.
struct AdvisorDocument {
    std::vector<Range> ranges;
    std::vector<std::pair<InterruptionBand, std::int32_t>> entries;  // with the band's index
};

void read_ranges(JsonScanner& json, AdvisorDocument& document) {
    json.begin_array();
    while (json.next_element()) {
        Range range;
        std::string_view key;
        json.begin_object();
        while (json.next_key(key)) {
            if (key == "index") {
                range.index = static_cast<std::int32_t>(json.whole(0, 100, "the band's number"));
            } else if (key == "max") {
                range.percent_max = static_cast<std::int32_t>(json.whole(0, 100, expected_percent));
            } else {
                json.skip_value();
            }
        }
        if (range.index < 0 || range.percent_max < 0) json.fail("expected \"index\" and \"max\"");
        if (document.ranges.size() >= 100) json.fail("expected at most 100 bands");
        document.ranges.push_back(range);
    }
    std::ranges::sort(document.ranges, {}, &Range::index);
}

void read_types(JsonScanner& json, const std::string& region, const std::string& system,
                AdvisorDocument& document) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        InterruptionBand band;
        band.region = region;
        band.system = system;
        band.instance_type = key;
        std::int32_t index = -1;
        json.begin_object();
        while (json.next_key(key)) {
            if (key == "r") {
                index = static_cast<std::int32_t>(json.whole(0, 100, "the band's number"));
            } else if (key == "s") {
                band.savings_percent =
                    static_cast<std::int32_t>(json.whole(savings_min, 100, expected_savings));
            } else {
                json.skip_value();
            }
        }
        if (index < 0) json.fail("expected the key \"r\", the band's number");
        if (document.entries.size() >= bands_max) json.fail("expected fewer instance types");
        document.entries.emplace_back(std::move(band), index);
    }
}

void read_regions(JsonScanner& json, AdvisorDocument& document) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        const std::string region(key);
        json.begin_object();
        while (json.next_key(key)) read_types(json, region, std::string(key), document);
    }
}

void sort_bands(std::vector<InterruptionBand>& bands) {
    std::ranges::sort(bands, {}, [](const InterruptionBand& band) {
        return std::tie(band.region, band.instance_type, band.system);
    });
}

Trace read_advisor_document(std::string_view text, const std::filesystem::path& file,
                            const ReadOptions&) {
    const std::string name = file.string();
    JsonScanner json(text, name);
    AdvisorDocument document;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key == "ranges") {
            read_ranges(json, document);
        } else if (key == "spot_advisor") {
            read_regions(json, document);
        } else {
            json.skip_value();
        }
    }
    json.finish();
    if (document.entries.empty()) json.fail_at(0, "expected \"spot_advisor\" with instance types");
    Trace trace;
    trace.report.rows = std::ssize(document.entries);
    for (auto& [band, index] : document.entries) {
        const auto range = std::ranges::find(document.ranges, index, &Range::index);
        if (range == document.ranges.end()) {
            json.fail_at(0, fmt::format("expected a range for the band {}", index));
        }
        band.percent_max = range->percent_max;
        band.percent_min = range == document.ranges.begin() ? 0 : std::prev(range)->percent_max;
        trace.bands.push_back(std::move(band));
    }
    sort_bands(trace.bands);
    trace.report.notes.push_back(fmt::format(
        "{} bands of interruption, in percent of the instances a month", trace.bands.size()));
    return trace;
}

Trace read_advisor_list(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.read_header();
    const std::size_t region = csv.column("region");
    const std::size_t type = csv.column("instance_type");
    const std::size_t system = csv.column("system");
    const std::size_t min = csv.column(csv_header_first);
    const std::size_t max = csv.column("interrupted_percent_max");
    const std::size_t savings = csv.column("savings_percent");
    const auto percent = [&](std::size_t column) {
        return static_cast<std::int32_t>(csv.whole(column, 0, 100, expected_percent));
    };
    const auto saved = [&](std::size_t column) {
        return static_cast<std::int32_t>(csv.whole(column, savings_min, 100, expected_savings));
    };
    Trace trace;
    while (csv.next_row()) {
        if (trace.bands.size() >= bands_max) csv.fail_here("expected fewer rows");
        trace.bands.push_back({std::string(csv.field(region)), std::string(csv.field(type)),
                               std::string(csv.field(system)), percent(min), percent(max),
                               saved(savings)});
    }
    if (trace.bands.empty()) csv.fail_here("expected at least one band, found none");
    sort_bands(trace.bands);
    csv.add_to(trace.report);
    return trace;
}

}  // namespace

TraceForm spot_advisor_form() {
    return {"aws_spot_advisor_json", "AWS Spot Advisor: bands of interruption a month and savings",
            [](std::string_view head, const std::filesystem::path&) {
                const std::string_view first = first_key(head).key;
                return first == "instance_types" || first == "ranges" || first == "spot_advisor" ||
                       first == "global_rate" || has_json_key(head, "spot_advisor");
            },
            read_advisor_document};
}

TraceForm interruption_bands_form() {
    return {"interruption_bands_csv", "our own CSV of bands: region,instance_type,system,…",
            [](std::string_view head, const std::filesystem::path&) {
                return has_columns(head, {"region", "instance_type", csv_header_first});
            },
            read_advisor_list};
}

std::string to_plain_csv(std::span<const InterruptionBand> bands) {
    CsvWriter csv({"region", "instance_type", "system", std::string(csv_header_first),
                   "interrupted_percent_max", "savings_percent"});
    for (const InterruptionBand& band : bands) {
        csv.add(one_line(band.region)).add(one_line(band.instance_type)).add(one_line(band.system));
        csv.add(band.percent_min).add(band.percent_max).add(band.savings_percent).end_row();
    }
    return csv.text();
}

}  // namespace ukemi::traces
