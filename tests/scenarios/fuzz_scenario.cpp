// fuzz_scenario.cpp — any bytes at all: a scenario is read, and its policies are made, or it is
// refused. Files that it names are not opened.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/input_error.hpp"
#include "scenarios/reader/scenario.hpp"
#include "sim/job/world.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    try {
        const ukemi::scenarios::Scenario scenario = ukemi::scenarios::scenario_from_text(
            {reinterpret_cast<const char*>(data), size}, "fuzz");
        ukemi::sim::MarketData market;
        market.zones.resize(scenario.market.zones.size());
        for (const ukemi::scenarios::PolicyList& list : scenario.policies) {
            ukemi::scenarios::check_policies(
                list, scenario, ukemi::sim::simulated_capabilities(market, scenario.job));
        }
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
    return 0;
}
