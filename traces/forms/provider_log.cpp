// provider_log.cpp — what a provider of machines did in a live run (provider.jsonl), as a market.
//
// {"t_ns": …, "event": "asked|refused|granted|ready|notice|given_back|ended", "instance": 0,
// "zone": …, "market": "spot"}, an object a line, times since the run's beginning. Of spot machines
// alone: each zone is a series of how many were there for the run, which is the least that could be
// had, with the prices that were told; it ends with the run. A machine that goes at the time
// of which a notice told, or later, is lost; others are given back, so are those that the run
// needed no longer before that time came.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "traces/forms/forms.hpp"
#include "traces/limits.hpp"
#include "traces/series_builder.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view expected_nanoseconds = "nanoseconds, up to 100 years";

struct ProviderEvent {
    std::int64_t at_ns = -1;
    std::string event;
    std::string zone;
    bool is_spot = false;
    std::int64_t instance = -1;
    std::optional<Price> price;
    std::int64_t lost_at_ns = 0;  // of a notice; 0: it told of no time
};

ProviderEvent read_event(JsonScanner& json) {
    ProviderEvent one;
    std::string_view key;
    json.begin_object();
    const std::size_t begin = json.offset();
    while (json.next_key(key)) {
        if (key == "t_ns") {
            one.at_ns = json.whole(0, trace_length_max.raw(), expected_nanoseconds);
        } else if (key == "event") {
            one.event = json.text();
        } else if (key == "zone") {
            one.zone = json.text();
        } else if (key == "market") {
            one.is_spot = json.text() == "spot";
        } else if (key == "instance") {
            one.instance = json.whole(0, trace_rows_max, "the number of a machine");
        } else if (key == "lost_at_ns") {
            one.lost_at_ns = json.whole(0, trace_length_max.raw(), expected_nanoseconds);
        } else if (key == "usd_per_hour") {
            one.price = Price::of(json.decimal(9, 0, trace_price_max.raw(), expected_price));
        } else {
            json.skip_value();
        }
    }
    if (one.at_ns < 0) json.fail_at(begin, "expected the key \"t_ns\"");
    if (one.event.empty()) json.fail_at(begin, "expected the key \"event\"");
    if (one.event != "ended" && one.instance < 0) {
        json.fail_at(begin, "expected the key \"instance\"");
    }
    return one;
}

// A zone's machines.
class ZoneOfRun {
public:
    void apply(const ProviderEvent& one, std::vector<Lifetime>& lifetimes) {
        const Instant now = Instant::at(nanoseconds(one.at_ns));
        counts_.try_emplace(now, held());
        if (one.price) prices_[now] = *one.price;
        if (one.event == "notice")
            noticed_[one.instance] = Instant::at(nanoseconds(one.lost_at_ns));
        if (one.event == "ready") since_.try_emplace(one.instance, now);
        if (one.event != "given_back") return;
        const auto found = since_.find(one.instance);
        if (found == since_.end()) return;  // it never came
        const auto notice = noticed_.find(one.instance);
        const bool was_lost = notice != noticed_.end() && now >= notice->second;
        lifetimes.push_back({one.zone, "", "", now - found->second, was_lost});
        since_.erase(found);
    }
    // After all of a moment.
    void settle(std::int64_t at_ns) {
        const auto found = counts_.find(Instant::at(nanoseconds(at_ns)));
        if (found != counts_.end()) found->second = held();
    }
    TraceSeries series(const std::string& zone, Instant end) {
        TraceSeries series{zone, "", {}, {}};
        SeriesBuilder<std::int32_t> builder;
        if (counts_.begin()->first > Instant{}) builder.add(Instant{}, 0);
        for (const auto& [at, count] : counts_) {
            if (at < end || builder.empty()) builder.add(at, count);
        }
        series.availability = builder.finish(end);
        if (prices_.empty()) return series;
        SeriesBuilder<Price> prices;  // the first is what was to be paid until then
        prices.add(Instant{}, prices_.begin()->second);
        for (const auto& [at, price] : prices_) {
            if (at > Instant{} && at < end) prices.add(at, price);
        }
        series.price = prices.finish(end);
        return series;
    }

private:
    std::int32_t held() const { return static_cast<std::int32_t>(since_.size()); }
    std::map<Instant, std::int32_t> counts_;
    std::map<Instant, Price> prices_;
    std::map<std::int64_t, Instant> since_;    // by machine
    std::map<std::int64_t, Instant> noticed_;  // when each is to be lost, as was told last
};

Trace read_provider_events(std::string_view text, const std::filesystem::path& file,
                           const ReadOptions& options) {
    refuse_inverted_counts(options, file.string(), "provider_log");
    const TracePage page{text, file};
    Trace trace;
    std::map<std::string, ZoneOfRun> zones;
    std::int64_t last_ns = 0;
    for (const JsonDocument& document : json_documents(text)) {
        const auto offset = static_cast<std::size_t>(document.text.data() - text.data());
        ProviderEvent one;
        read_document(page, document, [&](JsonScanner& json) { one = read_event(json); });
        if (++trace.report.rows > trace_rows_max) fail_in(page, offset, "expected fewer lines");
        if (one.at_ns < last_ns) fail_in(page, offset, "expected times that do not go back");
        last_ns = one.at_ns;
        if (one.event == "ended" || !one.is_spot) continue;
        ZoneOfRun& zone = zones[one.zone];
        zone.apply(one, trace.lifetimes);
        zone.settle(one.at_ns);
    }
    if (zones.empty()) fail_in(page, 0, "expected at least one spot machine, found none");
    for (auto& [name, zone] : zones) {
        trace.series.push_back(zone.series(name, Instant::at(nanoseconds(last_ns))));
    }
    trace.report.notes.push_back("what the run had: the least that could be had");
    return trace;
}

}  // namespace

TraceForm provider_log_form() {
    return {"provider_log",
            "provider.jsonl of a live run: machines asked for, granted, taken and given back",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) && first_key(head).key == "t_ns" &&
                       has_json_key(head, "event") && has_json_key(head, "instance");
            },
            read_provider_events};
}

}  // namespace ukemi::traces
