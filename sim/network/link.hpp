// link.hpp — links and routes, as abstract numbers: what a topology hands to the network.
//
// A link is one direction of a cable, a bus or a switch port. Bandwidths are bytes a second.
#pragma once

#include <cstdint>

#include "base/quantity.hpp"

namespace ukemi::sim {

enum class LinkId : std::uint32_t {};   // dense, from 0, in the order in which links were added
enum class RouteId : std::uint32_t {};  // the same of routes

constexpr std::uint32_t index_of_link(LinkId link) { return static_cast<std::uint32_t>(link); }

// All that a flow-level solver has to know of a link.
struct LinkRate {
    BytesPerSecond bandwidth;  // zero: the link is down
    Duration latency;
};

// A link of a route and what a flow takes there: so many parts of its own rate. Of flows that move
// in step a route has as many wholes as cross the link; a flow that fills a link before its bytes
// do (headers, a protocol that waits) takes more than the whole.
struct Hop {
    static constexpr std::uint32_t whole = 1024;
    LinkId link{};
    std::uint32_t parts = whole;
};

}  // namespace ukemi::sim
