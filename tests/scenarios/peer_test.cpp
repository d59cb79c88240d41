// peer_test.cpp — our runs against the recorded outputs of the simulators of «Can't Be Late».
//
// Same traces, same policies: the cost to 1e-7 of itself and the number of clock ticks exactly, for
// every run. The inputs are bit strings, most significant bit first; a one is a tick without spot.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "tests/recorded.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

json read_json(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return json::parse(stream);
}

traces::AvailabilitySeries series_of(const json& trace, Duration gap) {
    const auto ticks = trace.at(0).get<std::int64_t>();
    const auto bits = trace.at(1).get<std::string>();
    traces::AvailabilitySeries series;
    for (std::int64_t tick = 0; tick < ticks; ++tick) {
        const char digit = bits.at(static_cast<std::size_t>(tick / 4));
        const int nibble = digit <= '9' ? digit - '0' : digit - 'a' + 10;
        const std::int32_t available = 1 - ((nibble >> (3 - tick % 4)) & 1);
        if (series.steps.empty() || series.steps.back().value != available) {
            series.steps.push_back({Instant{} + tick * gap, available});
        }
    }
    series.end = Instant{} + ticks * gap;
    return series;
}

scenarios::NamedMarket market_of(const scenarios::Scenario& scenario,
                                 traces::AvailabilitySeries series) {
    scenarios::NamedMarket market;
    market.name = "peer";
    sim::ZoneData zone;
    zone.name = "peer";
    zone.spot_price = {{{Instant{}, *scenario.market.zones[0].spot_price}}, series.end};
    zone.capacity = std::move(series);
    zone.on_demand_price = scenario.market.zones[0].on_demand_price;
    market.data.zones.push_back(std::move(zone));
    market.data.after_last_row = scenario.market.after_last_row;
    sim::prepare(market.data);
    return market;
}

struct Comparison {
    std::size_t runs = 0;
    std::size_t different = 0;
    std::string first;
};

// One policy over one set of traces.
void compare(Comparison& so_far, const scenarios::Scenario& scenario, const std::string& policy,
             const json& traces, const json& costs, const json& ticks) {
    const scenarios::PolicyList list = scenarios::parse_policies(policy, scenario, "test").at(0);
    for (std::size_t index = 0; index < costs.size(); ++index) {
        const scenarios::NamedMarket market =
            market_of(scenario, series_of(traces.at(index), whole_seconds(600)));
        const records::RunResult run = scenarios::run_one(scenario, market, list, 1).result;
        const auto cost = costs.at(index).get<double>();
        const bool equal = std::abs(to_dollars(run.cost) - cost) <= 1e-7 * cost &&
                           run.ticks == ticks.at(index).get<std::int64_t>();
        ++so_far.runs;
        if (equal) continue;
        if (so_far.different++ == 0) {
            so_far.first = fmt::format("{} trace {}: {} USD in {} ticks, the peer has {} in {}",
                                       policy, index, to_dollars(run.cost), run.ticks, cost,
                                       ticks.at(index).get<std::int64_t>());
        }
    }
}

scenarios::Scenario with(const std::string& file, double deadline_h, double overhead_h) {
    const std::vector<ConfigOverride> overrides{{"/job/deadline", fmt::format("{} h", deadline_h)},
                                                {"/job/restart", fmt::format("{} h", overhead_h)},
                                                {"/job/give_up_after", "2000 h"}};
    return scenarios::read_scenario(scenario_folder / file, overrides);
}

}  // namespace

TEST_CASE("peer: every run of Can't Be Late, generation 1, costs and lasts the same",
          "[peer][golden]") {
    const auto folder = peer_outputs();
    const std::map<std::string, std::string> names{{"strawman", "greedy"},
                                                   {"on_demand", "on_demand"},
                                                   {"only_spot", "spot_only"},
                                                   {"pair_amortize_avg_8.0h", "time_sliced"},
                                                   {"ideal_no_overhead", "ideal_no_overhead"}};
    const json inputs = read_json(*folder / "cbl_gen1_inputs.json");
    const json expected = read_json(*folder / "cbl_gen1_expected.json");
    const auto overhead_h = expected.at("restart_overhead_hours").get<double>();
    Comparison all;
    for (const json& run : expected.at("runs")) {
        const scenarios::Scenario scenario = with(
            "market/cant_be_late_gen1.json", run.at("deadline_hours").get<double>(), overhead_h);
        const json& traces = inputs.at("sets").at(run.at("set").get<std::string>()).at("traces");
        compare(all, scenario, names.at(run.at("policy").get<std::string>()), traces,
                run.at("cost"), run.at("ticks"));
    }
    INFO(all.first);
    // (500 + 300) traces × 5 policies; the slice has 100 of the 300.
    CHECK(all.runs == (reference_outputs() == data_slices() / "reference" ? 500 : 4000));
    CHECK(all.different == 0);
}

TEST_CASE("peer: every run of Can't Be Late, generation 3, costs and lasts the same",
          "[peer][golden]") {
    const auto folder = peer_outputs();
    if (!std::filesystem::exists(*folder / "cbl_gen3_inputs.json")) {
        WARN("skipped: no recorded data: reference/peers/cbl_gen3_inputs.json");
        return;
    }
    const std::map<std::string, std::string> names{{"rc_cr_threshold", "uniform_progress"},
                                                   {"rc_threshold", "rc_threshold"},
                                                   {"greedy_spot", "greedy"},
                                                   {"on_demand", "on_demand"}};
    const json inputs = read_json(*folder / "cbl_gen3_inputs.json");
    const json expected = read_json(*folder / "cbl_gen3_expected.json");
    Comparison all;
    for (const json& run : expected.at("runs")) {
        const scenarios::Scenario scenario =
            with("market/cant_be_late_gen3.json", run.at("deadline_h").get<double>(),
                 run.at("overhead_h").get<double>());
        const json& traces = inputs.at("sets").at(run.at("env").get<std::string>());
        compare(all, scenario, names.at(run.at("policy").get<std::string>()), traces,
                run.at("costs"), run.at("ticks"));
    }
    INFO(all.first);
    CHECK(all.runs ==
          6400);  // 4 environments × 100 traces × 4 policies × 2 deadlines × 2 overheads
    CHECK(all.different == 0);
}

}  // namespace ukemi
