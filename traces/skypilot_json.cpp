// skypilot_json.cpp — {"metadata": {"gap_seconds": g}, "data": [counts], "prices": [USD/h]}.
//
// One sample every g seconds, the first at zero; the series ends one gap after the last sample.
// Prices, where present, are one for each sample. Published SkyPilot traces mean "available" by a
// one; converted ones (SkyNomad's, ADRS's) mean the opposite: that is what the polarity is for.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_scanner.hpp"
#include "traces/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"

namespace ukemi {

namespace {

struct Document {
    Duration gap;  // zero: not seen
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

void read_metadata(JsonScanner& json, Document& document) {
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        if (key != "gap_seconds") {
            json.skip_value();
            continue;
        }
        refuse_repeated(json, document.gap != Duration{}, "gap_seconds");
        document.gap = nanoseconds(json.decimal(9, 1, trace_gap_max.raw(), expected_gap));
    }
}

void read_prices(JsonScanner& json, Document& document) {
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

Document read_document(JsonScanner& json, std::int32_t value_max, std::string_view expected) {
    Document document;
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
    const bool inverted = one_means_unavailable(options.polarity, Polarity::one_is_available);
    JsonScanner json(text, name);
    Document document = read_document(json, inverted ? 1 : trace_instances_max,
                                      inverted ? "0 or 1 (1 = unavailable)" : expected_instances);
    Trace trace;
    trace.report.rows = static_cast<std::int64_t>(document.data.size());
    trace.report.sampling = document.gap;
    trace.report.notes = std::move(document.notes);
    if (inverted) trace.report.notes.emplace_back("polarity: 1 means unavailable");
    TraceSeries& series = trace.series.emplace_back();
    series.availability = sampled(document.data, document.gap,
                                  [&](std::int32_t value) { return inverted ? 1 - value : value; });
    if (document.has_prices) {
        series.price = sampled(document.prices, document.gap, [](Price price) { return price; });
    }
    return trace;
}

}  // namespace

// Every other object is left to it as well: it says best what is missing.
TraceForm skypilot_json_form() {
    return {"skypilot_json", "SkyPilot's JSON of samples: metadata.gap_seconds, data, prices",
            [](std::string_view head, const std::filesystem::path&) {
                return head.find_first_not_of(" \t\r\n") != std::string_view::npos &&
                       head[head.find_first_not_of(" \t\r\n")] == '{';
            },
            read_skypilot_json};
}

}  // namespace ukemi
