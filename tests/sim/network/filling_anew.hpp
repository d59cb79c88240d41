// filling_anew.hpp — progressive filling from nothing, in long double: what the solver's rates are
// compared with. It knows nothing of what was before.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "sim/network/link.hpp"

namespace ukemi {

struct FilledFlow {
    std::vector<sim::Hop> hops;
    double cap = std::numeric_limits<double>::infinity();
};

// The first link to be full if the flows without a rate (below zero) rise together, and at which
// level; one past the last link if none will be.
struct FirstFull {
    std::size_t link = 0;
    long double level = std::numeric_limits<long double>::infinity();
};
inline FirstFull first_full(std::span<const double> capacities, std::span<const FilledFlow> flows,
                            std::span<const long double> rates) {
    std::vector<long double> used(capacities.size());
    std::vector<long double> rising(capacities.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        for (const sim::Hop& hop : flows[i].hops) {
            const auto link = sim::index_of_link(hop.link);
            (rates[i] < 0 ? rising[link] : used[link]) += (rates[i] < 0 ? 1 : rates[i]) *
                                                          static_cast<long double>(hop.parts) /
                                                          sim::Hop::whole;
        }
    }
    FirstFull first{capacities.size()};
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        if (rising[link] == 0) continue;
        const long double left = std::max<long double>(capacities[link] - used[link], 0);
        if (left / rising[link] >= first.level) continue;
        first = {link, left / rising[link]};
    }
    return first;
}

// Max-min fair rates. Every flow crosses at least one link.
inline std::vector<long double> filled_anew(std::span<const double> capacities,
                                            std::span<const FilledFlow> flows) {
    std::vector<long double> rates(flows.size(), -1);
    for (;;) {
        const FirstFull full = first_full(capacities, flows, rates);
        // A flow that wants less than that stops before.
        std::size_t capped = flows.size();
        for (std::size_t i = 0; i < flows.size(); ++i) {
            if (rates[i] >= 0 || flows[i].cap >= full.level) continue;
            if (capped == flows.size() || flows[i].cap < flows[capped].cap) capped = i;
        }
        if (capped < flows.size()) {
            rates[capped] = flows[capped].cap;
            continue;
        }
        if (full.link == capacities.size()) return rates;
        for (std::size_t i = 0; i < flows.size(); ++i) {
            const auto crosses = [&](const sim::Hop& hop) {
                return sim::index_of_link(hop.link) == full.link;
            };
            if (rates[i] < 0 && std::ranges::any_of(flows[i].hops, crosses)) rates[i] = full.level;
        }
    }
}

}  // namespace ukemi
