// fluid_rings.hpp — rounds of a ring as one flow an edge, which runs ahead of the edge before it by
// part of a round, and no further.
//
// An edge sends in round k what its rank received in round k − 1, so it cannot stay faster than the
// edge before it. How far ahead it gets: in a ring that moves at the pace s of its slowest edge, an
// edge of own pace g begins its round when the one before, of own pace f, has ended one, and waits
// when it has ended its own; averaged over a round it is 1 − s/2 (1/f + 1/g) rounds ahead. (The
// edge behind the slow one has f = s, so half of 1 − s/g.) The flow of an edge carries all rounds
// of the phase; one that is as far ahead as that is capped at the pace of the edge before, until it
// falls behind, that one changes its pace, or is done. So a ring of n edges may run ahead of a slow
// link by up to n rounds, half of an all-reduce, as it does when every round is played.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/network/exact_rings.hpp"
#include "sim/network/flow_network.hpp"

namespace ukemi::sim {

class FluidRings final : public PaceWatcher {
public:
    static constexpr std::uint32_t no_edge = RingEdge::no_edge;

    explicit FluidRings(FlowNetwork& network) : network_(network) { network_.watch(this); }
    FluidRings(const FluidRings&) = delete;
    FluidRings& operator=(const FluidRings&) = delete;
    ~FluidRings() override { network_.watch(nullptr); }

    // Bytes of an edge in a round, above zero; the rounds that each edge has sent already, if any.
    // Its flows have the tags (run << 32 | edge), its alarms (run << 32 | alarm_bit | edge).
    static constexpr std::uint32_t alarm_bit = 0x80000000;
    void start(std::uint32_t run, const PlacedRing& ring, double round_bytes, std::int64_t rounds,
               std::span<const double> rounds_sent = {});
    // What the network told. True if that was the phase's last edge.
    bool flow_finished(std::uint32_t run, std::uint32_t edge);
    void alarm(std::uint32_t run, std::uint32_t edge);
    void forget(std::uint32_t run) { phases_.erase(run); }  // its flows are cancelled elsewhere

    bool paces_changed(std::span<const std::uint64_t> tags) override;

private:
    struct Edge {
        FlowNetwork::FlowId flow;
        FlowNetwork::FlowId alarm;
        std::uint32_t before = no_edge;
        std::uint32_t after = no_edge;
        bool alarmed = false;
        bool locked = false;  // capped at the pace of the edge before
        double cap = 0;
        double alone = 0;  // its pace before it was capped
    };
    struct Phase {
        std::vector<Edge> edges;
        std::size_t running = 0;  // edges whose end was not told yet
        double round_bytes = 0;
    };

    // The network knows: several edges end at one tick, and are told of one after the other.
    bool runs(const Edge& edge) const { return network_.is_under_way(edge.flow); }
    void review(std::uint32_t run, Phase& phase, std::uint32_t index);
    void follow(std::uint32_t run, Phase& phase, std::uint32_t index);
    void let_go(Edge& edge);
    void cancel_alarm(Edge& edge);
    bool goes_in_circles();

    FlowNetwork& network_;
    std::map<std::uint32_t, Phase> phases_;
    std::vector<std::uint64_t> to_review_;  // tags, after the next solve
    std::vector<std::uint64_t> reviewed_;
    FlowNetwork::Tick asked_at_ = -1;
    std::size_t asked_ = 0;  // how often at that tick
};

}  // namespace ukemi::sim
