// fixture.hpp — small markets and jobs for tests of the simulated world.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/registry.hpp"
#include "sim/job/world.hpp"

namespace ukemi {

inline Instant at(Duration since_start) { return Instant::at(since_start); }

// {0 min: 1, 30 min: 0, …}; the series ends at `end`.
inline traces::AvailabilitySeries capacity(std::vector<std::pair<Duration, std::int32_t>> steps,
                                           Duration end) {
    traces::AvailabilitySeries series;
    for (const auto& [time, value] : steps) series.steps.push_back({at(time), value});
    series.end = at(end);
    return series;
}

inline traces::PriceSeries price(double usd_per_hour) {
    return {{{Instant{}, dollars_per_hour(usd_per_hour)}}, Instant{}};
}

inline sim::ZoneData zone(std::string name, traces::AvailabilitySeries series,
                          traces::PriceSeries spot_price, double on_demand_usd = 3.0) {
    sim::ZoneData data;
    data.name = std::move(name);
    data.capacity = std::move(series);
    data.spot_price = std::move(spot_price);
    data.on_demand_price = dollars_per_hour(on_demand_usd);
    return data;
}

inline sim::MarketData market(std::vector<sim::ZoneData> zones,
                              sim::AfterLastRow after = sim::AfterLastRow::hold) {
    sim::MarketData data;
    data.zones = std::move(zones);
    data.after_last_row = after;
    sim::prepare(data);
    return data;
}

// `work` of one machine, lossless, no overheads; grows from `least` to `most` machines without
// getting faster unless the test says so.
inline sim::JobSpec job(Duration work, std::int32_t least = 1, std::int32_t most = 1) {
    sim::JobSpec spec;
    spec.samples_total = work.raw();
    spec.profile.throughput = {{1, {1, nanoseconds(1)}}};
    spec.plan.global_batch = 1;
    spec.plan.workers_max = most;
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, most, Price{}}};
    spec.workers_min = least;
    spec.give_up_at = at(days(30));
    return spec;
}

inline std::unique_ptr<policies::Policy> policy(std::string_view name,
                                                std::string_view parameters = "{}") {
    const policies::PolicyEntry* entry = policies::find_policy(name);
    ConfigReader reader = ConfigReader::from_text(parameters, "test");
    return policies::make_policy(*entry, reader);
}

inline sim::WorldSetup setup(const sim::MarketData& market_data, const sim::JobSpec& spec) {
    sim::WorldSetup result;
    result.market = &market_data;
    result.job = &spec;
    result.seed = 1;
    result.oracle = true;
    return result;
}

inline records::RunResult run(const sim::MarketData& market_data, const sim::JobSpec& spec,
                              std::vector<std::pair<std::string, std::string>> policies) {
    sim::WorldSetup result = setup(market_data, spec);
    for (const auto& [name, parameters] : policies) {
        result.policies.push_back(policy(name, parameters));
    }
    sim::World world(std::move(result));
    return world.run();
}

}  // namespace ukemi
