// ring_recurrence.hpp — a ring that shares its links with nobody, without flows.
//
// In round k every edge sends on what its rank received in round k − 1, after its own round k − 1:
//
//   T(i, k) = max(T(i, k − 1), T(before i, k − 1)) + α_i + ∫ B_i over the part's bytes,
//
// with α the latency of an edge's links and B their bandwidth. As long as no bandwidth changes the
// integral is a constant; where one changes, advance() says where every edge is and the recurrence
// goes on from there. So it is exact under any change of links, to the tick of a flow network.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ukemi::sim {

using NetworkTick = std::int64_t;  // of a FlowNetwork

struct RingEdge {
    static constexpr std::uint32_t no_edge = 0xffffffff;
    std::uint32_t before = no_edge;  // whose rank receives what this one sends further
    std::uint32_t after = no_edge;
    NetworkTick latency = 0;
};

// Where an edge is.
struct RingEdgeNow {
    std::int64_t done = 0;  // rounds that are over
    bool sending = false;   // the next is under way:
    NetworkTick latency_left = 0;
    double bytes_left = 0;
};

class RingRecurrence {
public:
    // Every edge sends `round_bytes` in each of so many rounds.
    RingRecurrence(std::span<const RingEdge> edges, double round_bytes, std::int64_t rounds)
        : edges_(edges), round_bytes_(round_bytes), rounds_(rounds) {}

    // Longer than this (4.9 hours) is not counted.
    static constexpr NetworkTick too_long = NetworkTick{1} << 60;
    // From the present until the last edge may be done at the earliest, with these bandwidths in
    // bytes a second; too_long or more if one of them is zero or nearly so. Exact where nothing is
    // sent yet.
    NetworkTick ends_not_before(std::span<const RingEdgeNow> now,
                                std::span<const double> bandwidths) const;
    // And until it is, if that is not too long.
    NetworkTick ends_after(std::span<const RingEdgeNow> now,
                           std::span<const double> bandwidths) const;
    // So much later, not after its end.
    void advance(std::span<RingEdgeNow> now, std::span<const double> bandwidths,
                 NetworkTick by) const;
    // Of a round of this edge, alone.
    NetworkTick round_time(std::size_t edge, double bandwidth) const;

private:
    // Round after round from the first that is not over everywhere, by edge: when it has begun and
    // when it is over, zero for what lies in the past. The visitor returns false to end it.
    template <class Visitor>
    void play(std::span<const RingEdgeNow> now, std::span<const double> bandwidths,
              const Visitor& visit) const;

    std::span<const RingEdge> edges_;
    double round_bytes_;
    std::int64_t rounds_;
};

}  // namespace ukemi::sim
