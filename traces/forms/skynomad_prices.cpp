// skynomad_prices.cpp — {"zone": [USD/h at every tick], …}: prices without any time.
//
// The ticks are those of another file (the zone's availability): ReadOptions::times names it, or
// ReadOptions::gap says how far apart they are. Every zone ends one interval after its last tick.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_scanner.hpp"
#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

// When the ticks were: of a file, or evenly spaced.
struct Ticks {
    std::vector<std::int64_t> stamps;  // empty: evenly spaced
    Duration gap;                      // between them, the usual one

    Duration at(std::int64_t index) const {
        if (stamps.empty()) return index * gap;
        return nanoseconds(stamps[static_cast<std::size_t>(index)] - stamps.front());
    }
};

Ticks ticks_of(const ReadOptions& options, const std::string& name) {
    if (!options.times.empty()) {
        Ticks ticks{sample_times(options.times), {}};
        ticks.gap = spacing_of(ticks.stamps).usual;
        return ticks;
    }
    if (options.gap <= Duration{} || options.gap > trace_gap_max) {
        throw InputError(name, "",
                         "the form skynomad_prices_json holds no times: expected the "
                         "interval between its samples as an option, such as 195 s");
    }
    return {{}, options.gap};
}

PriceSeries read_zone(JsonScanner& json, const Ticks& ticks, std::int64_t& rows) {
    SeriesBuilder<Price> builder;
    std::int64_t index = 0;
    json.begin_array();
    const std::size_t list = json.offset();
    while (json.next_element()) {
        if (!ticks.stamps.empty() && index >= std::ssize(ticks.stamps)) {
            json.fail(fmt::format("expected a price for each of the {} times, found more",
                                  ticks.stamps.size()));
        }
        const std::int64_t price = json.decimal(9, 0, trace_price_max.raw(), expected_price);
        if (++rows > trace_rows_max ||
            (ticks.stamps.empty() && index > trace_length_max.raw() / ticks.gap.raw())) {
            json.fail(fmt::format("expected at most {} prices and 100 years", trace_rows_max));
        }
        builder.add(Instant::at(ticks.at(index)), Price::of(price));
        ++index;
    }
    if (builder.empty()) json.fail("expected at least one price for every zone, found none");
    if (!ticks.stamps.empty() && index != std::ssize(ticks.stamps)) {
        json.fail_at(list, fmt::format("expected a price for each of the {} times, found {}",
                                       ticks.stamps.size(), index));
    }
    return builder.finish(builder.last() + ticks.gap);
}

Trace read_skynomad_prices(std::string_view text, const std::filesystem::path& file,
                           const ReadOptions& options) {
    const std::string name = file.string();
    const Ticks ticks = ticks_of(options, name);
    JsonScanner json(text, name);
    Trace trace;
    trace.report.sampling = ticks.gap;
    std::string_view key;
    json.begin_object();
    while (json.next_key(key)) {
        const bool repeated = std::any_of(trace.series.begin(), trace.series.end(),
                                          [&](const TraceSeries& s) { return s.zone == key; });
        if (repeated) json.fail("expected every zone once, found this one again");
        if (trace.series.size() >= 10'000) json.fail("expected at most 10000 zones");
        TraceSeries& series = trace.series.emplace_back();
        series.zone = key;
        if (!ticks.stamps.empty()) series.start = format_timestamp(ticks.stamps.front());
        series.price = read_zone(json, ticks, trace.report.rows);
    }
    json.finish();
    if (trace.series.empty()) json.fail_at(0, "expected at least one zone, found none");
    trace.report.notes.push_back(
        ticks.stamps.empty() ? fmt::format("{} zones; the interval of {:g} s is the caller's",
                                           trace.series.size(), to_seconds(ticks.gap))
                             : fmt::format("{} zones; the times are those of {}",
                                           trace.series.size(), options.times.filename().string()));
    return trace;
}

}  // namespace

TraceForm skynomad_prices_form() {
    return {"skynomad_prices_json", "prices at every tick: {\"zone\": [USD/h, …]}; needs a gap",
            [](std::string_view head, const std::filesystem::path&) {
                const FirstKey first = first_key(head);
                // Zones begin with a small letter; "SpotInstanceRequests" and the like do not.
                const bool may_be_zone = !first.key.empty() && first.key.front() > 'Z';
                return first.after == '[' && may_be_zone && first.key != "data" &&
                       first.key != "prices";
            },
            read_skynomad_prices};
}

}  // namespace ukemi::traces
