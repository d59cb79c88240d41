// whole_hops.hpp — what a Router says of links that a flow has the whole of.
#pragma once

#include <span>
#include <vector>

#include "sim/network/link.hpp"

namespace ukemi {

// Until it is asked again.
inline std::span<const sim::Hop> whole_hops(std::span<const sim::LinkId> links) {
    static std::vector<sim::Hop> hops;
    hops.clear();
    for (const sim::LinkId link : links) hops.push_back({link});
    return hops;
}

}  // namespace ukemi
