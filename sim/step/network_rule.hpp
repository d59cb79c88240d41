// network_rule.hpp — how exactly the collectives of steps are played.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ukemi::sim {

// How exactly what is sent is played (sim/network/README.md says how far fluid is from exact).
// Automatic: exact, unless more than 2^23 transfers may be in the air at once (2^26 of those that
// are far from it as fluid: trees, halving-doubling on other numbers of ranks than powers of two,
// dimensions). Of those, rings are exact as long as they share their links with nobody, and fluid
// else; the others are fluid.
enum class NetworkFidelity : std::uint8_t { automatic, exact, fluid };
inline constexpr std::array<std::string_view, 3> network_fidelity_names = {"automatic", "exact",
                                                                           "fluid"};

struct NetworkRule {
    NetworkFidelity fidelity = NetworkFidelity::automatic;
    // Steps of a collective for which a receiver has room (transfer_graph.hpp); 0: for all. Not of
    // fluid ones: automatic is exact if it is there.
    std::int32_t window_chunks = 0;
};

}  // namespace ukemi::sim
