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
        const ukemi::Scenario scenario =
            ukemi::scenario_from_text({reinterpret_cast<const char*>(data), size}, "fuzz");
        ukemi::MarketData market;
        market.zones.resize(scenario.market.zones.size());
        for (const ukemi::PolicyList& list : scenario.policies) {
            ukemi::check_policies(list, scenario,
                                  ukemi::simulated_capabilities(market, scenario.job));
        }
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
    return 0;
}
