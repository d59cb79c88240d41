// fair_share_fault.cpp — the max-min conditions, looked at from scratch.
#include <fmt/format.h>

#include <algorithm>

#include "sim/network/fair_share.hpp"

namespace ukemi::sim {

std::string FairShare::fault() const {
    constexpr double tolerance = 1e-9;
    std::vector<double> used(links_.size());
    std::vector<double> fastest(links_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) {
        for (const Member& member : links_[i].members) {
            used[i] += member.parts * flows_[member.slot].rate;
            fastest[i] = std::max(fastest[i], flows_[member.slot].rate);
        }
        if (used[i] > links_[i].capacity * (1 + tolerance)) {
            return fmt::format("link {} carries {} of {} B/s", i, used[i] / Hop::whole,
                               links_[i].capacity / Hop::whole);
        }
    }
    for (Slot slot = 0; slot < flows_.size(); ++slot) {
        if (!flows_[slot].present) continue;
        const std::span<const Hop> crossed = hops(flows_[slot].route);
        if (flows_[slot].rate > flows_[slot].cap * (1 + tolerance)) {
            return fmt::format("flow {} wants less than {} B/s", slot, flows_[slot].rate);
        }
        if (flows_[slot].rate >= flows_[slot].cap * (1 - tolerance)) continue;
        const bool held = std::any_of(crossed.begin(), crossed.end(), [&](const Hop& hop) {
            const std::uint32_t i = index_of_link(hop.link);
            return used[i] >= links_[i].capacity * (1 - tolerance) &&
                   flows_[slot].rate >= fastest[i] * (1 - tolerance);
        });
        if (!held) return fmt::format("flow {} at {} B/s could be faster", slot, flows_[slot].rate);
    }
    return {};
}

}  // namespace ukemi::sim
