// skynomad_prices.cpp — {"zone": [USD/h at every tick], …}: prices without any time.
//
// The ticks are those of another file (the zone's availability), so the interval between them must
// be given: ReadOptions::gap. Every zone starts at zero and ends one interval after its last tick.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_scanner.hpp"
#include "traces/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"

namespace ukemi {

namespace {

PriceSeries read_zone(JsonScanner& json, Duration gap, std::int64_t& rows) {
    SeriesBuilder<Price> builder;
    Duration at;
    json.begin_array();
    while (json.next_element()) {
        const std::int64_t price = json.decimal(9, 0, trace_price_max.raw(), expected_price);
        if (++rows > trace_rows_max || at > trace_length_max) {
            json.fail(fmt::format("expected at most {} prices and 100 years", trace_rows_max));
        }
        builder.add(Instant::at(at), Price::of(price));
        at += gap;
    }
    if (builder.empty()) json.fail("expected at least one price for every zone, found none");
    return builder.finish(Instant::at(at));
}

Trace read_skynomad_prices(std::string_view text, const std::filesystem::path& file,
                           const ReadOptions& options) {
    const std::string name = file.string();
    if (options.gap <= Duration{} || options.gap > trace_gap_max) {
        throw InputError(name, "",
                         "the form skynomad_prices_json holds no times: expected the "
                         "interval between its samples as an option, such as 195 s");
    }
    JsonScanner json(text, name);
    Trace trace;
    trace.report.sampling = options.gap;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        const bool repeated = std::any_of(trace.series.begin(), trace.series.end(),
                                          [&](const TraceSeries& s) { return s.zone == key; });
        if (repeated) json.fail("expected every zone once, found this one again");
        if (trace.series.size() >= 10'000) json.fail("expected at most 10000 zones");
        TraceSeries& series = trace.series.emplace_back();
        series.zone = key;
        series.price = read_zone(json, options.gap, trace.report.rows);
    }
    json.finish();
    if (trace.series.empty()) json.fail_at(0, "expected at least one zone, found none");
    trace.report.notes.push_back(fmt::format("{} zones; the interval of {:g} s is the caller's",
                                             trace.series.size(), to_seconds(options.gap)));
    return trace;
}

}  // namespace

TraceForm skynomad_prices_form() {
    return {"skynomad_prices_json", "prices at every tick: {\"zone\": [USD/h, …]}; needs a gap",
            [](std::string_view head, const std::filesystem::path&) {
                const FirstKey first = first_key(head);
                return first.after == '[' && first.key != "data" && first.key != "prices";
            },
            read_skynomad_prices};
}

}  // namespace ukemi
