// skypilot_json.cpp — {"metadata": {"gap_seconds": g}, "data": [counts], "prices": [USD/h]}.
//
// One sample every g seconds, the first at zero; the series ends one gap after the last sample.
// Prices, where present, are one for each sample. Published SkyPilot traces mean "available" by a
// one; SkyNomad's converted ones mean the opposite, and are known by their metadata.price_info,
// which their simulator demands. For other converted ones (ADRS's) there is the polarity.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/json_documents.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

struct SkypilotDocument {
    Duration gap;  // zero: not seen
    std::string zone;
    std::string start;
    bool has_price_info = false;
    std::optional<Price> on_demand;
    std::optional<Price> spot;  // of all samples, where they have none of their own
    std::size_t data_offset = 0;
    bool has_data = false;
    bool has_prices = false;
    std::size_t prices_offset = 0;
    std::vector<std::int32_t> data;
    std::vector<Price> prices;
    std::vector<std::string> notes;
};

void refuse_repeated(const JsonScanner& json, bool seen, std::string_view key) {
    if (seen) json.fail(fmt::format("expected \"{}\" once, found it again", key));
}

void read_price_info(JsonScanner& json, SkypilotDocument& document) {
    document.has_price_info = true;
    std::string_view key;
    json.begin_object();
    const auto price = [&] {
        return Price::of(json.decimal(9, 0, trace_price_max.raw(), expected_price));
    };
    while (json.next_key(key)) {
        if (key == "price") {
            document.spot = price();
        } else if (key == "on_demand_price") {
            document.on_demand = price();
        } else {
            json.skip_value();
        }
    }
}

void read_metadata(JsonScanner& json, SkypilotDocument& document) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key == "gap_seconds") {
            refuse_repeated(json, document.gap != Duration{}, "gap_seconds");
            document.gap = nanoseconds(json.decimal(9, 1, trace_gap_max.raw(), expected_gap));
        } else if (key == "price_info" && json.peek() == JsonScanner::Kind::object) {
            read_price_info(json, document);
        } else if (key == "zone" && json.peek() == JsonScanner::Kind::text) {
            document.zone = json.text();
        } else if ((key == "start_time" || key == "start") &&
                   json.peek() == JsonScanner::Kind::text) {
            const auto stamp = parse_timestamp(json.text());
            if (stamp) document.start = format_timestamp(*stamp);
        } else {
            json.skip_value();
        }
    }
}

void read_prices(JsonScanner& json, SkypilotDocument& document) {
    json.begin_array();
    document.prices_offset = json.offset();
    while (json.next_element()) {
        document.prices.push_back(
            Price::of(json.decimal(9, 0, trace_price_max.raw(), expected_price)));
        if (document.prices.size() > static_cast<std::size_t>(trace_rows_max)) {
            json.fail(fmt::format("expected at most {} values", trace_rows_max));
        }
    }
}

SkypilotDocument read_document(JsonScanner& json, std::int32_t value_max,
                               std::string_view expected) {
    SkypilotDocument document;
    bool has_metadata = false;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key == "metadata") {
            refuse_repeated(json, std::exchange(has_metadata, true), key);
            read_metadata(json, document);
        } else if (key == "data") {
            refuse_repeated(json, std::exchange(document.has_data, true), key);
            json.whole_numbers(value_max, expected, document.data,
                               static_cast<std::size_t>(trace_rows_max));
            document.data_offset = json.offset();
            if (document.data.empty()) json.fail("expected at least one sample, found none");
        } else if (key == "prices") {
            refuse_repeated(json, std::exchange(document.has_prices, true), key);
            read_prices(json, document);
        } else {
            document.notes.push_back(fmt::format("key \"{}\" not read", key));
            json.skip_value();
        }
    }
    json.finish();
    if (document.gap == Duration{}) json.fail_at(0, "expected \"metadata\" with \"gap_seconds\"");
    if (!document.has_data) json.fail_at(0, "expected \"data\", found no such key");
    if (document.has_prices && document.prices.size() != document.data.size()) {
        json.fail_at(document.prices_offset,
                     fmt::format("expected one price for each of the {} samples, found {}",
                                 document.data.size(), document.prices.size()));
    }
    const auto samples = static_cast<std::int64_t>(document.data.size());
    if (document.gap.raw() > trace_length_max.raw() / samples) {
        json.fail_at(0, fmt::format("expected at most 100 years, found {} samples of {:g} s",
                                    samples, to_seconds(document.gap)));
    }
    return document;
}

// Equal neighbours are most of a trace: only where the value changes is there anything to do.
template <class Value, class Transform>
Series<Value> sampled(const std::vector<Value>& values, Duration gap, Transform transform) {
    SeriesBuilder<Value> builder;
    std::size_t steps = 1;
    for (std::size_t i = 1; i < values.size(); ++i) steps += values[i] == values[i - 1] ? 0 : 1;
    builder.reserve(steps);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0 && values[i] == values[i - 1]) continue;
        builder.add(Instant::at(static_cast<std::int64_t>(i) * gap), transform(values[i]));
    }
    return builder.finish(Instant::at(static_cast<std::int64_t>(values.size()) * gap));
}

Trace read_skypilot_json(std::string_view text, const std::filesystem::path& file,
                         const ReadOptions& options) {
    const std::string name = file.string();
    const bool asked = options.polarity == Polarity::one_is_unavailable;
    constexpr std::string_view expected_flag = "0 or 1 (1 = unavailable)";
    JsonScanner json(text, name);
    SkypilotDocument document = read_document(json, asked ? 1 : trace_instances_max,
                                              asked ? expected_flag : expected_instances);
    const bool inverted = one_means_unavailable(options.polarity, document.has_price_info
                                                                      ? Polarity::one_is_unavailable
                                                                      : Polarity::one_is_available);
    if (inverted && std::ranges::any_of(document.data, [](std::int32_t d) { return d > 1; })) {
        json.fail_at(
            document.data_offset,
            fmt::format("expected {}, as metadata.price_info tells; found counts", expected_flag));
    }
    Trace trace;
    trace.report.rows = static_cast<std::int64_t>(document.data.size());
    trace.report.sampling = document.gap;
    trace.report.notes = std::move(document.notes);
    if (inverted) {
        trace.report.notes.emplace_back(
            asked ? "polarity: 1 means unavailable"
                  : "polarity: 1 means unavailable, as in every trace with metadata.price_info");
    }
    TraceSeries& series = trace.series.emplace_back();
    series.zone = document.zone;
    series.start = document.start;
    series.availability = sampled(document.data, document.gap,
                                  [&](std::int32_t value) { return inverted ? 1 - value : value; });
    if (document.has_prices) {
        series.price = sampled(document.prices, document.gap, [](Price price) { return price; });
    } else if (document.spot) {
        series.price = PriceSeries{{{Instant{}, *document.spot}}, series.availability->end};
    }
    if (document.on_demand) {
        trace.listed_prices.push_back({document.zone, "", document.on_demand, document.spot});
    }
    return trace;
}

}  // namespace

// An object that begins with these keys is left to it also if the rest is missing: it says what.
TraceForm skypilot_json_form() {
    return {"skypilot_json", "SkyPilot's JSON of samples: metadata.gap_seconds, data, prices",
            [](std::string_view head, const std::filesystem::path&) {
                return first_key(head).after != '\0' &&
                       (has_json_key(head, "gap_seconds") || has_json_key(head, "metadata") ||
                        has_json_key(head, "data"));
            },
            read_skypilot_json};
}

}  // namespace ukemi::traces
