// make_market.cpp — the market of one run: recorded, generated, or with one trace put in.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "scenarios/scenario.hpp"
#include "traces/generator.hpp"

namespace ukemi {

namespace {

AvailabilitySeries always(std::int32_t instances, Instant end) {
    return {{{Instant{}, instances}}, end};
}

PriceSeries constant_price(Price price, Instant end) { return {{{Instant{}, price}}, end}; }

std::string trace_name(const std::filesystem::path& file) {
    std::string name = file.filename().string();
    return name.substr(0, name.find('.', 1));
}

// One zone out of a file's series and what the scenario says about it.
ZoneData zone_of(const TraceSeries& series, const ZoneSource& source, const Scenario& scenario,
                 const std::string& name, std::string_view file) {
    ZoneData zone;
    zone.name = name;
    zone.on_demand_price = source.on_demand_price;
    const bool own_price = series.price && scenario.market.price_from_trace;
    if (!own_price && !source.spot_price) {
        throw InputError(file, "",
                         "has no prices, and the scenario's market has no \"spot_price\"");
    }
    const Instant end = series.availability ? series.availability->end : series.price->end;
    zone.spot_price = own_price ? *series.price : constant_price(*source.spot_price, end);
    zone.capacity = series.availability ? *series.availability
                                        : always(scenario.job.plan.workers_max, end);
    return zone;
}

ReadOptions options_for(const Scenario& scenario) {
    ReadOptions options;
    options.polarity = scenario.market.polarity;
    options.instance_type = scenario.market.instance_type;
    return options;
}

void add_zones(MarketData& data, const Trace& trace, const ZoneSource& source,
               const Scenario& scenario, std::string_view file) {
    for (const TraceSeries& series : trace.series) {
        std::string name = !source.name.empty() && trace.series.size() == 1 ? source.name
                           : !series.zone.empty()                         ? series.zone
                                                                          : trace.name;
        data.zones.push_back(zone_of(series, source, scenario, name, file));
    }
}

void add_recorded(MarketData& data, const ZoneSource& source, const Scenario& scenario) {
    const ReadOptions options = options_for(scenario);
    if (source.availability.empty() && source.price.empty()) {
        if (!source.spot_price) {
            throw InputError(scenario.file.string(), "/market",
                             "expected \"availability\", \"price\", \"generate\" or a "
                             "\"spot_price\" (or a trace on the command line)");
        }
        TraceSeries nothing_recorded;
        nothing_recorded.availability = always(scenario.job.plan.workers_max, Instant{});
        data.after_last_row = AfterLastRow::hold;
        data.zones.push_back(zone_of(nothing_recorded, source, scenario,
                                     source.name.empty() ? "always" : source.name, ""));
        return;
    }
    const auto& first = source.availability.empty() ? source.price : source.availability;
    Trace trace = read_trace(first, options);
    if (!source.availability.empty() && !source.price.empty()) {
        const Trace prices = read_trace(source.price, options);
        if (trace.series.size() != 1 || prices.series.size() != 1 || !prices.series[0].price) {
            throw InputError(source.price.string(), "",
                             "expected the prices of the one zone of the availability file");
        }
        trace.series[0].price = prices.series[0].price;
    }
    add_zones(data, trace, source, scenario, first.string());
}

void check_names(const MarketData& data, std::string_view file) {
    for (std::size_t later = 0; later < data.zones.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            if (data.zones[earlier].name == data.zones[later].name) {
                throw InputError(file, "/market",
                                 fmt::format("two zones are called \"{}\"",
                                             data.zones[later].name));
            }
        }
    }
}

}  // namespace

NamedMarket make_market(const Scenario& scenario, std::uint64_t seed,
                        const std::filesystem::path& trace) {
    const MarketSource& source = scenario.market;
    NamedMarket market;
    MarketData& data = market.data;
    data.after_last_row = source.after_last_row;
    data.notice = source.notice;
    data.provisioning = source.provisioning;
    if (!trace.empty()) {
        const Trace read = read_trace(trace, options_for(scenario));
        market.name = trace_name(trace);
        add_zones(data, read, source.zones.front(), scenario, trace.string());
    } else if (!source.generator.empty()) {
        const auto parameters = std::ranges::find(all_market_parameters(), source.generator,
                                                  &MarketParameters::name);
        INVARIANT(parameters != all_market_parameters().end());
        market.name = source.generator;
        Trace made;
        made.name = source.generator;
        made.series = generate_market(*parameters, seed, source.generator_zones,
                                      source.generator_length);
        add_zones(data, made, source.zones.front(), scenario, scenario.file.string());
    } else {
        for (const ZoneSource& zone : source.zones) add_recorded(data, zone, scenario);
        const auto& only = source.zones.front();
        market.name = source.zones.size() > 1 || only.availability.empty()
                          ? scenario.name
                          : trace_name(only.availability);
    }
    check_names(data, scenario.file.string());
    prepare(data);
    return market;
}

JobSpec job_on(const Scenario& scenario, const MarketData& market) {
    JobSpec job = scenario.job;
    job.profile.provisioning = market.provisioning;
    if (scenario.give_up_after) {
        job.give_up_at = Instant::at(*scenario.give_up_after);
        return job;
    }
    // Long enough for anything that can still succeed: whoever buys on-demand after the last row,
    // or after the deadline, has time for all of the work, twice.
    Instant last = job.deadline == Instant::never() ? Instant{} : job.deadline;
    for (const ZoneData& zone : market.zones) last = std::max(last, zone.capacity.end);
    const std::int64_t per_step = samples_per_step(job.plan, job.workers_min);
    const std::int64_t steps = (job.samples_total + per_step - 1) / per_step;
    const Duration work = time_for(rate_of(job.profile, job.workers_min), steps);
    job.give_up_at = last + 2 * work + days(1);
    return job;
}

}  // namespace ukemi
