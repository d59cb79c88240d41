// make_market.cpp — the market of one run: recorded, generated, or with one trace put in.
#include <fmt/format.h>

#include <algorithm>

#include "base/plain_text.hpp"
#include "scenarios/reader/scenario.hpp"
#include "traces/generator.hpp"
#include "traces/market_statistics.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::scenarios {

namespace {

traces::AvailabilitySeries always(std::int32_t instances, Instant end) {
    return {{{Instant{}, instances}}, end};
}

traces::PriceSeries constant_price(Price price, Instant end) { return {{{Instant{}, price}}, end}; }

// Which the scenario's price is no use to.
bool has_own_price(const traces::TraceSeries& series, const Scenario& scenario) {
    return series.price && scenario.market.price_from_trace;
}

// A price that stands for several zones is of use where any of them has it.
void note_price(NamedMarket& market, const traces::TraceSeries& series, const ZoneSource& source,
                const Scenario& scenario) {
    if (!source.spot_price || scenario.market.price_from_said) return;
    bool& used = market.typed_prices[source.spot_price_at];
    used = used || !has_own_price(series, scenario);
}

void note_findings(NamedMarket& market, const traces::Trace& trace) {
    traces::add_notes(market.findings, trace.report.doubts);
}

// One zone out of a file's series and what the scenario says about it.
sim::ZoneData zone_of(const traces::TraceSeries& series, const ZoneSource& source,
                      const Scenario& scenario, const std::string& name, std::string_view file) {
    sim::ZoneData zone;
    zone.name = name;
    zone.region = source.region;
    if (zone.region.empty()) {
        zone.region = traces::region_of_zone(series.zone.empty() ? name : series.zone);
    }
    zone.speed_per_mille = source.speed_per_mille;
    zone.one_is_undated = series.one_is_undated;
    zone.on_demand_price = source.on_demand_price;
    if (scenario.market.recorded_losses) {
        if (series.nodes.empty()) {
            throw InputError(file, "",
                             "names no machines, which \"losses\": \"recorded\" at /market needs "
                             "(ukemi list traces: bamboo_events)");
        }
        zone.machines = sim::recorded_group(series.nodes);
        const bool ends = scenario.market.after_last_row == sim::AfterLastRow::end;
        if (ends) sim::end_all(zone.machines, series.availability->end);
    }
    const bool own_price = has_own_price(series, scenario);
    if (!own_price && !source.spot_price) {
        throw InputError(file, "",
                         fmt::format("has no prices, and {0} has no \"spot_price\" at {1} "
                                     "(--set '{1}/spot_price=\"$0.92/h\"' gives one)",
                                     scenario.file.string(), scenario.market.path));
    }
    const Instant end = series.availability ? series.availability->end : series.price->end;
    zone.spot_price = own_price ? *series.price : constant_price(*source.spot_price, end);
    zone.capacity =
        series.availability ? *series.availability : always(scenario.job.plan.workers_max, end);
    return zone;
}

traces::ReadOptions options_for(const Scenario& scenario, const ZoneSource& source) {
    traces::ReadOptions options;
    options.polarity = scenario.market.polarity;
    options.instance_type =
        source.instance_type.empty() ? scenario.market.instance_type : source.instance_type;
    return options;
}

// What the scenario says of the zone of that name; else `source`, without what is one zone's own if
// it stands for several.
ZoneSource source_of(const std::string& name, const ZoneSource& source, bool one_of_several,
                     const Scenario& scenario) {
    const auto& zones = scenario.market.zones;
    const auto same = std::ranges::find(zones, name, &ZoneSource::name);
    if (same != zones.end()) return *same;
    ZoneSource general = source;
    if (one_of_several) {
        general.region.clear();
        general.availability.clear();
        general.price.clear();
    }
    return general;
}

// What a trace is of. Files of one zone and type are parts of one record, whatever they are called.
std::string record_of(const traces::Trace& trace, const std::string& name) {
    const traces::TraceSeries& series = trace.series.front();
    if (trace.series.size() > 1 || series.zone.empty()) return name;
    return series.instance_type.empty() ? series.zone
                                        : fmt::format("{}/{}", series.zone, series.instance_type);
}

// The prices as they are seen by somebody who starts `later`: older ones are gone.
traces::PriceSeries started_later(const traces::PriceSeries& prices, Duration later) {
    traces::PriceSeries rest;
    for (const traces::Step<Price>& step : prices.steps) {
        if (step.at.since_start() <= later) {
            rest.steps.assign(1, {Instant{}, step.value});
        } else {
            rest.steps.push_back({step.at - later, step.value});
        }
    }
    rest.end = prices.end - later;
    return rest;
}

// Two files of one zone: where both say when they were recorded, they are laid over each other.
void join_prices(traces::TraceSeries& zone, const traces::TraceSeries& prices,
                 std::string_view file) {
    if (!zone.availability || !prices.price) {
        throw InputError(file, "",
                         zone.availability ? "expected prices, found availability"
                                           : "has prices for an availability file without any");
    }
    const auto begins = traces::parse_timestamp(zone.start);
    const auto prices_begin = traces::parse_timestamp(prices.start);
    if (!begins || !prices_begin) {
        zone.price = prices.price;
        zone.one_is_undated = begins.has_value() != prices_begin.has_value();
        return;
    }
    const Duration later = nanoseconds(*begins - *prices_begin);
    if (later < Duration{} || later > prices.price->end.since_start()) {
        throw InputError(
            file, "",
            fmt::format("expected prices at {}, when the availability begins; found "
                        "prices from {} to {}",
                        zone.start, prices.start,
                        traces::format_timestamp(*prices_begin + prices.price->end.raw())));
    }
    zone.price = started_later(*prices.price, later);
}

// A trace of the command line takes the place of what it holds; the rest is the scenario's still.
traces::TraceSeries completed(NamedMarket& market, const traces::TraceSeries& given,
                              const ZoneSource& source, const Scenario& scenario,
                              std::string_view file) {
    const bool needs_price =
        !given.price && !source.price.empty() && scenario.market.price_from_trace;
    const bool needs_availability = !given.availability && !source.availability.empty();
    if (!needs_price && !needs_availability) return given;
    const std::filesystem::path& own = needs_price ? source.price : source.availability;
    const traces::Trace rest = traces::read_trace(own, options_for(scenario, source));
    note_findings(market, rest);
    if (rest.series.size() != 1) {
        throw InputError(own.string(), "",
                         fmt::format("expected one zone, to be put beside {}; found {} series",
                                     file, rest.series.size()));
    }
    traces::TraceSeries zone = needs_price ? given : rest.series[0];
    if (needs_price) {
        join_prices(zone, rest.series[0], own.string());
    } else {
        if (!zone.availability) {
            throw InputError(own.string(), "", "expected availability, found prices");
        }
        join_prices(zone, given, file);
        if (!given.zone.empty()) zone.zone = given.zone;
    }
    return zone;
}

void add_zones(NamedMarket& market, const traces::Trace& trace, const ZoneSource& given,
               const Scenario& scenario, std::string_view file) {
    note_findings(market, trace);
    const bool several = trace.series.size() > 1;
    for (const traces::TraceSeries& series : trace.series) {
        const bool typed = several && !given.name.empty() && !given.instance_type.empty();
        std::string name = !given.name.empty() && !several ? given.name
                           : series.zone.empty()           ? traces::trace_name(trace.name)
                           : typed ? fmt::format("{}/{}", given.name, series.zone)
                                   : series.zone;
        const ZoneSource source = source_of(name, given, several, scenario);
        for (const traces::TraceSeries& other : trace.series) {
            if (&other == &series) break;
            if (other.zone != series.zone) continue;
            throw InputError(
                file, "",
                fmt::format("zone \"{}\" is there with the instance types \"{}\" and "
                            "\"{}\": say which as \"instance\", of the zone or at /cluster",
                            series.zone, other.instance_type, series.instance_type));
        }
        const traces::TraceSeries zone = completed(market, series, source, scenario, file);
        note_price(market, zone, source, scenario);
        // With bids, the prices themselves say when there is none.
        if (!zone.availability && !market.data.rules.bidding) {
            traces::add_notes(
                market.findings,
                {fmt::format("zone \"{}\" has prices alone, so that all its machines are always "
                             "there: losses and waits need a record of capacity",
                             one_line(name))});
        }
        market.data.zones.push_back(zone_of(zone, source, scenario, name, file));
    }
}

void add_always(NamedMarket& market, const ZoneSource& source, const Scenario& scenario) {
    const std::string place = source.name.empty()
                                  ? std::string("/market")
                                  : fmt::format("/market, zone \"{}\"", source.name);
    if (!source.spot_price) {
        throw InputError(scenario.file.string(), place,
                         "expected \"availability\", \"price\", \"generate\" or a "
                         "\"spot_price\" (or a trace on the command line)");
    }
    traces::TraceSeries nothing_recorded;
    nothing_recorded.availability = always(scenario.job.plan.workers_max, Instant{});
    market.data.after_last_row = sim::AfterLastRow::hold;
    market.data.zones.push_back(zone_of(nothing_recorded, source, scenario,
                                        source.name.empty() ? "always" : source.name, ""));
}

bool is_recorded(const ZoneSource& zone) {
    return !zone.availability.empty() || !zone.price.empty();
}

void add_recorded(NamedMarket& market, const ZoneSource& source, const Scenario& scenario) {
    const traces::ReadOptions options = options_for(scenario, source);
    const auto& first = source.availability.empty() ? source.price : source.availability;
    traces::Trace trace = traces::read_trace(first, options);
    if (source.availability.empty() && !trace.series[0].price) {
        throw InputError(first.string(), "", "expected prices, found availability");
    }
    if (!source.availability.empty() && !trace.series[0].availability) {
        throw InputError(first.string(), "", "expected availability, found prices");
    }
    if (!source.availability.empty() && !source.price.empty()) {
        const traces::Trace prices = traces::read_trace(source.price, options);
        if (trace.series.size() != 1 || prices.series.size() != 1) {
            throw InputError(source.price.string(), "",
                             fmt::format("expected the prices of the one zone of the availability "
                                         "file, found {} series of prices and {} of availability",
                                         prices.series.size(), trace.series.size()));
        }
        join_prices(trace.series[0], prices.series[0], source.price.string());
        note_findings(market, prices);
    }
    add_zones(market, trace, source, scenario, first.string());
}

void add_all_recorded(NamedMarket& market, const Scenario& scenario) {
    const auto& zones = scenario.market.zones;
    const auto recorded = std::ranges::count_if(zones, is_recorded);
    for (const ZoneSource& zone : zones) {
        if (is_recorded(zone)) {
            add_recorded(market, zone, scenario);
            continue;
        }
        // Its capacity would last for ever, and with it what holds after the others' last row.
        if (recorded > 0) {
            throw InputError(scenario.file.string(), "/market",
                             fmt::format("zone \"{}\" has neither \"availability\" nor "
                                         "\"price\", and other zones have",
                                         zone.name));
        }
        add_always(market, zone, scenario);
    }
}

void check_names(const sim::MarketData& data, std::string_view file) {
    for (std::size_t later = 0; later < data.zones.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            if (data.zones[earlier].name == data.zones[later].name) {
                throw InputError(
                    file, "/market",
                    fmt::format("two zones are called \"{}\"", data.zones[later].name));
            }
        }
    }
}

// A table that matches no two of the scenario's own places is a misspelt one, and moves were free.
void check_transfer(const sim::MarketData& data, const Scenario& scenario) {
    if (data.transfer.rows.empty()) return;
    const sim::ZoneData* first = nullptr;  // of two regions
    const sim::ZoneData* other = nullptr;
    for (const sim::ZoneData& one : data.zones) {
        for (const sim::ZoneData& two : data.zones) {
            if (one.region == two.region) continue;
            if (first == nullptr) {
                first = &one;
                other = &two;
            }
            for (const sim::TransferRow& row : data.transfer.rows) {
                if (sim::matches_pattern(row.from, one.region) &&
                    sim::matches_pattern(row.to, two.region)) {
                    return;
                }
            }
        }
    }
    if (first == nullptr) return;  // all are in one region
    throw InputError(scenario.file.string(), "/market/transfer",
                     fmt::format("no row says what a move between \"{}\" and \"{}\" costs, nor "
                                 "between any others",
                                 first->region, other->region));
}

}  // namespace

traces::ReadOptions trace_options(const Scenario& scenario) {
    return options_for(scenario, scenario.market.zones.front());
}

NamedMarket make_market(const Scenario& scenario, std::uint64_t seed,
                        const std::filesystem::path& trace, const traces::Trace* zones) {
    const MarketSource& source = scenario.market;
    NamedMarket market;
    sim::MarketData& data = market.data;
    data.after_last_row = source.after_last_row;
    data.notice = source.notice;
    data.provisioning = source.provisioning;
    data.rules = source.rules;
    data.transfer = source.transfer;
    if (zones != nullptr) {
        market.name = market.record = zones->name;
        add_zones(market, *zones, source.zones.front(), scenario, zones->name);
    } else if (!trace.empty()) {
        const traces::Trace read =
            traces::read_trace(trace, options_for(scenario, source.zones.front()));
        market.name = traces::trace_name(trace);
        market.record = record_of(read, market.name);
        add_zones(market, read, source.zones.front(), scenario, trace.string());
    } else if (!source.generator.empty()) {
        market.name = source.generator;
        market.record = fmt::format("{}, seed {}", source.generator, seed);
        if (!source.generator_parameters->price && !source.zones.front().spot_price) {
            throw InputError(scenario.file.string(), "/market",
                             fmt::format("the market \"{}\" was fitted to a record without prices: "
                                         "expected a \"spot_price\" beside \"generate\"",
                                         source.generator));
        }
        traces::Trace made;
        made.name = source.generator;
        made.series = traces::generate_market(*source.generator_parameters, seed,
                                              source.generator_zones, source.generator_length);
        add_zones(market, made, source.zones.front(), scenario, scenario.file.string());
    } else {
        add_all_recorded(market, scenario);
        check_transfer(data, scenario);
        const auto& only = source.zones.front();
        const auto& file = only.availability.empty() ? only.price : only.availability;
        market.name =
            source.zones.size() > 1 || file.empty() ? scenario.name : traces::trace_name(file);
        market.record = market.name;
    }
    check_names(data, scenario.file.string());
    sim::prepare(data);
    return market;
}

namespace {

// The speed of the slowest place, at which the work must still be done in bounded time.
std::int32_t slowest_speed(const Scenario& scenario, const sim::MarketData& market) {
    std::int32_t slowest = 1000;
    for (const sim::ZoneData& zone : market.zones)
        slowest = std::min(slowest, zone.speed_per_mille);
    std::int32_t machine = market.rules.slow_share > 0 ? market.rules.slow_speed : 1000;
    for (const std::int32_t speed : market.rules.machine_speeds) machine = std::min(machine, speed);
    slowest = std::max(slowest * std::min(machine, 1000) / 1000, 1);
    const sim::JobSpec& job = scenario.job;
    const std::int64_t per_step = policies::samples_per_step(job.plan, job.workers_min);
    const std::int64_t steps = (job.samples_total + per_step - 1) / per_step;
    const policies::StepRate rate = policies::rate_of(job.profile, job.plan, job.workers_min);
    const Int128 time = static_cast<Int128>(steps) * rate.per.raw() / rate.steps * 1000 / slowest;
    constexpr Duration longest = days(36'600);
    if (time <= longest.raw()) return slowest;
    throw InputError(scenario.file.string(), "/market",
                     fmt::format("expected places where {} instance{} can do the work in {}, found "
                                 "one at {} of the job's speed",
                                 job.workers_min, job.workers_min == 1 ? "" : "s",
                                 format_duration(longest), slowest / 1000.0));
}

}  // namespace

sim::JobSpec job_on(const Scenario& scenario, const sim::MarketData& market) {
    sim::JobSpec job = scenario.job;
    const std::int32_t slowest = slowest_speed(scenario, market);
    job.profile.provisioning = market.provisioning;
    if (job.guess) job.guess->provisioning = market.provisioning;
    // Instance-time is summed in nanoseconds, which hold 292 years.
    const Duration longest = Duration::of(days(91'000).raw() / job.instances_max);
    if (scenario.give_up_after) {
        if (*scenario.give_up_after > longest) {
            throw InputError(scenario.file.string(), "/job/give_up_after",
                             fmt::format("expected at most {:.0f} h with {} instances (250 "
                                         "instance-years), found {:.0f} h",
                                         to_hours(longest), job.instances_max,
                                         to_hours(*scenario.give_up_after)));
        }
        job.give_up_at = Instant::at(*scenario.give_up_after);
        return job;
    }
    // Long enough for anything that can still succeed: a job that buys on-demand after the last
    // row, or after the deadline, has time for all of the work, twice.
    Instant last = job.deadline == Instant::never() ? Instant{} : job.deadline;
    for (const sim::ZoneData& zone : market.zones) last = std::max(last, zone.capacity.end);
    const std::int64_t per_step = policies::samples_per_step(job.plan, job.workers_min);
    const std::int64_t steps = (job.samples_total + per_step - 1) / per_step;
    const policies::StepRate rate =
        policies::scaled(policies::rate_of(job.profile, job.plan, job.workers_min), slowest);
    const Duration alone = policies::time_for(rate, steps);
    const Duration tenth = Duration::of(longest.raw() / 10);
    // Where policies turn the batch, a bad one may need many times the samples.
    const Duration work = job.learning ? 10 * std::min(alone, tenth) : alone;
    const Duration until = std::min(last.since_start(), longest);
    job.give_up_at = Instant::at(until + std::min(2 * work + days(1), longest - until));
    return job;
}

}  // namespace ukemi::scenarios
