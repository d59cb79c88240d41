// exact_rings.hpp — rings whose transfers are played one by one, as long as they have to be.
//
// A ring, or several at once, of which every edge sends a part of equal size in every round (the
// buffer is cut evenly, to a fraction of a byte). As long as its links are its own, none of that is
// a flow:
//
// - Edges that share no link go by their recurrence (ring_recurrence.hpp), links that change
//   included.
// - Else, an edge's least share is the least of its links' bandwidth ÷ edges that cross it, its
//   slowest round is α + part ÷ that, and d is the longest of all edges. Nobody gets less, so round
//   k is over everywhere at (k + 1) d. If all edges of one link have the round d and their least
//   share there, each of them ends its round then and not before: they begin together and fill the
//   link. The phase takes rounds × d. Where no link is like that, it is played.
//
// When a flow comes across one of these links the rings become flows where they are. Where they
// are is the recurrence's answer, or found by playing them by themselves up to now.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/network/flow_network.hpp"
#include "sim/network/ring_recurrence.hpp"

namespace ukemi::sim {

// Rings on the links of a network.
struct PlacedRing {
    std::vector<RingEdge> edges;
    std::vector<RouteId> routes;  // by edge; of no latency
    std::vector<LinkId> links;    // of all, each once
    // What all edges take of a link (Hop::parts): for each edge, each of its links in turn.
    std::vector<std::uint32_t> parts;
    bool apart = true;  // no two edges share a link
};

// What every edge sends in each round, and how far the receiver lets the sender run ahead.
struct RingWork {
    double round_bytes = 0;  // above zero
    std::int64_t rounds = 1;
    std::int64_t window = 0;  // parts that a rank takes before it has sent on the first; 0: any
};

class ExactRings {
public:
    explicit ExactRings(FlowNetwork& network) : network_(network) {}

    // Its flows have the tags (run << 32 | edge), the alarm of its end (run << 32 | alarm_bit), and
    // the links that it keeps the run's number. The ring must outlive the run.
    static constexpr std::uint32_t alarm_bit = 0x80000000;
    void start(std::uint32_t run, const PlacedRing& ring, const RingWork& work);
    // The same if its links are its own and it needs no flows; else false.
    bool start_alone(std::uint32_t run, const PlacedRing& ring, const RingWork& work);
    // What the network told. True if that was the last.
    bool flow_finished(std::uint32_t run, std::uint32_t edge);
    bool alarm(std::uint32_t run);  // the same
    void disturbed(std::uint32_t run, bool shared);
    // Goes on no more; its flows are cancelled elsewhere.
    void forget(std::uint32_t run);
    // On its own links, and not at its end.
    bool is_alone(std::uint32_t run) const {
        const auto found = runs_.find(run);
        return found != runs_.end() && found->second.flows.empty() && !is_at_its_end(found->second);
    }
    // Of a run that is alone: ends it here. The rounds that each edge has sent, the last perhaps in
    // part, counted by time.
    std::vector<double> stop(std::uint32_t run);

    std::uint64_t flow_count() const { return flow_count_; }  // started so far

private:
    struct Run {
        const PlacedRing* ring = nullptr;
        RingWork work;
        std::vector<RingEdgeNow> edges;
        // As they were at `since`: of edges that go by the recurrence, else of the ring's links.
        std::vector<double> bandwidths;
        std::vector<FlowNetwork::FlowId> flows;  // none as long as it is alone
        FlowNetwork::FlowId end;                 // alone: the alarm
        NetworkTick length = 0;                  // and how long after `since` it is:
        bool ends_then = true;                   // at the end, or not after it
        std::uint64_t since = 0;                 // when `edges` were so: FlowNetwork::clock
        std::size_t edges_left = 0;

        bool recurs() const { return ring->apart && work.window == 0; }
    };

    Run& added(std::uint32_t number, const PlacedRing& ring, const RingWork& work);
    void start_flows(std::uint32_t number, Run& run);
    bool go_alone(std::uint32_t number, Run& run);
    bool is_at_its_end(const Run& run) const {
        return run.ends_then &&
               network_.clock() - run.since >= static_cast<std::uint64_t>(run.length);
    }
    void bring_up_to_date(Run& run);
    NetworkTick together_ends_after(const Run& run);
    std::vector<RingEdgeNow> played_alone(const Run& run, NetworkTick for_ticks) const;
    void try_edge(std::uint32_t number, Run& run, std::uint32_t index);
    double share_of(LinkId link, std::uint32_t parts) const;
    double least_share(const Run& run, std::size_t edge, std::size_t& hop_number) const;

    FlowNetwork& network_;
    std::map<std::uint32_t, Run> runs_;
    std::vector<std::uint32_t> slowest_on_;  // by link: parts of edges that it holds up the most
    std::uint64_t flow_count_ = 0;
};

}  // namespace ukemi::sim
