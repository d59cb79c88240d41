// collective_runs.hpp — collectives on the network, at two fidelities that can be mixed.
//
// Exact: every transfer of a schedule is a flow that starts at the exact tick at which the last of
// what it waits for has finished. A part of the buffer without bytes is not sent, as live workers
// do not send it. Rings need no schedule, and no flows as long as their links are their own
// (exact_rings.hpp).
//
// Fluid: a phase of a collective whose ranks move in step is played as a whole. In a ring, every
// edge is one flow that carries all rounds (fluid_rings.hpp). Any other phase, and a ring if asked,
// is one flow coupled over all its edges: one rate x for all, that counts k times on a link that k
// edges cross. A round takes an edge's latency, then share/x; the latency is spread over the bytes,
// so that a change of x in the middle of a phase finds the right number of rounds left. Tests bound
// how far it is from exact.
//
// Any number of collectives run at once over shared links.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/rng.hpp"
#include "sim/network/exact_rings.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/network/fluid_rings.hpp"
#include "sim/network/phases.hpp"
#include "sim/network/transfer_graph.hpp"

namespace ukemi::sim {

enum class RunId : std::uint32_t {};  // one collective; never used twice

// The hops from one rank to another, until it is asked again; empty if there is no path.
using Router = std::function<std::span<const Hop>(std::int32_t from, std::int32_t to)>;

// How the edges of a ring move: each for itself, or all as slowly as the slowest. The latter is
// cheaper and right where all edges of a ring meet the same.
enum class RingEdges : std::uint8_t { each, coupled };

// A phased collective placed on links.
struct FluidPlan {
    struct Phase {
        bool coupled = true;  // as one flow, else with one for each of the ring's edges
        RouteId route{};      // of the one
        double latency_s = 0;
        PlacedRing ring;  // if it is one, or several over the same ranks
        std::int64_t rounds = 1;
        double share = 1;
    };
    std::string name;
    std::vector<Phase> phases;

    bool is_one_ring() const { return phases.size() == 1 && !phases[0].ring.edges.empty(); }
};

// How a plan of one ring phase is played. if_alone: exactly as long as its links are its own, fluid
// from then on.
enum class RingPlay : std::uint8_t { fluid, exact, exact_if_alone };

// A graph on the links of a network, for any number of runs.
struct PlacedGraph {
    std::shared_ptr<const TransferGraph> graph;
    std::vector<RouteId> routes;  // by edge
    std::vector<LinkId> links;    // of all, each once
    // How long runs of so many bytes took on links of their own, at the network's bandwidths as of
    // this many changes.
    std::map<std::int64_t, NetworkTick> alone = {};
    std::uint64_t bandwidth_changes = UINT64_MAX;
    std::vector<BytesPerSecond> bandwidths = {};  // by link, then
    // By edge, in seconds, or nothing: what each transfer there waits besides its latency, on the
    // mean; exponential, and drawn for each anew. No two runs are alike then.
    std::vector<double> jitter_s = {};
    std::shared_ptr<RandomStream> draws = nullptr;
};

struct NetworkEvent {
    enum class Kind : std::uint8_t { run_finished, link_changed };
    Kind kind{};
    std::uint64_t number = 0;  // of the run or the link
    Instant at;
    bool exact = true;  // of a run: nothing of it was fluid
};

class CollectiveRuns final : public LinkKeeper {
public:
    explicit CollectiveRuns(FlowNetwork& network)
        : network_(network), rings_(network), exact_(network) {
        network_.set_keeper(this);
    }
    CollectiveRuns(const CollectiveRuns&) = delete;
    CollectiveRuns& operator=(const CollectiveRuns&) = delete;
    ~CollectiveRuns() override { network_.set_keeper(nullptr); }

    // The routes of a graph's edges, to be used for any number of runs. InputError if there is no
    // path, naming the ranks.
    std::vector<RouteId> routes_of(const TransferGraph& graph, const Router& router);
    // `bytes` is the size of the buffer, of elements of `element_bytes`; the graph and the routes
    // may be shared by runs. InputError if bytes is negative or no multiple of element_bytes.
    RunId start(std::shared_ptr<const TransferGraph> graph,
                std::shared_ptr<const std::vector<RouteId>> routes, Bytes bytes, Instant at,
                std::int64_t element_bytes = 1);
    // A run whose links nobody else uses is played once for every size, and then only its end.
    std::shared_ptr<PlacedGraph> place(std::shared_ptr<const TransferGraph> graph,
                                       std::vector<RouteId> routes) const;
    RunId start(std::shared_ptr<PlacedGraph> placed, Bytes bytes, Instant at);
    // The same at the fluid fidelity. InputError if there is no path, or bytes is negative.
    std::shared_ptr<const FluidPlan> plan_of(const PhasedCollective& collective,
                                             const Router& router,
                                             RingEdges ring_edges = RingEdges::each);
    // Played exactly only if it is one ring; the buffer is then cut evenly, to a fraction of a
    // byte. `window`, of an exact one: parts that a rank takes before it has sent on the first; 0:
    // any.
    RunId start(std::shared_ptr<const FluidPlan> plan, Bytes bytes, Instant at,
                RingPlay play = RingPlay::fluid, std::int64_t window = 0);
    // A plan of one flow, which takes no greater rate than this.
    RunId start_capped(std::shared_ptr<const FluidPlan> plan, Bytes bytes, Instant at, double cap);
    // Its flows stop where they are. Nothing if it has ended, even if that was not told yet.
    void cancel(RunId run);

    // Plays until something happens that concerns the world, at most until `limit`; the present is
    // then at that event's instant, or at `limit`. Without a limit it ends when nothing moves.
    std::optional<NetworkEvent> run_until(Instant limit);

    std::size_t running_count() const { return running_count_; }
    std::uint64_t flow_count() const {  // started so far
        return flow_count_ + exact_.flow_count();
    }
    void disturbed(std::span<const Disturbance> all) override;  // the network's

private:
    // On links of its own: to see how long it takes, or knowing it.
    enum class Alone : std::uint8_t { no, watched, known };
    struct Run {
        bool runs() const { return graph != nullptr || plan != nullptr; }
        std::shared_ptr<const TransferGraph> graph;
        std::shared_ptr<const std::vector<RouteId>> routes;
        std::vector<std::int64_t> chunk_begin;  // bytes before each chunk, and all
        std::vector<std::uint32_t> waits;
        std::size_t left = 0;                   // nodes or phases that are not over
        std::shared_ptr<const FluidPlan> plan;  // or a graph
        double bytes = 0;
        double cap = FairShare::unlimited;  // of its one flow
        RingPlay play = RingPlay::fluid;
        std::int64_t window = 0;
        std::shared_ptr<PlacedGraph> placed;  // of a graph whose time alone may be known
        std::int64_t size = 0;
        Alone alone = Alone::no;
        std::uint64_t since = 0;  // FlowNetwork::clock
        FlowNetwork::FlowId end;  // if its time is known
    };

    Run& at(std::uint32_t run) { return runs_[run - first_run_]; }
    void remove(std::uint32_t run);
    void begin(std::uint32_t run);
    bool begin_alone(std::uint32_t run);
    void end_alone(Run& run);
    void play_again(std::uint32_t run);
    void begin_node(const Run& run, std::uint32_t number, std::uint32_t node);
    void follow(Run& run, std::uint32_t number);
    void next_phase(std::uint32_t run);
    void end(std::uint32_t run);
    RunId added(Run run, Instant at);
    std::span<const Hop> path(const Router& router, const TransferGraph::Edge& edge) const;
    void take(const FlowNetwork::Happening& happening);

    FluidPlan::Phase coupled(const CollectivePhase& phase, const Router& router);
    PlacedRing by_edge(const CollectivePhase& phase, const Router& router);
    void start_fluid(std::uint32_t run, const FluidPlan::Phase& phase,
                     std::span<const double> rounds_sent);

    FlowNetwork& network_;
    FluidRings rings_;
    ExactRings exact_;
    std::deque<Run> runs_;         // the first is number first_run_
    std::uint32_t first_run_ = 0;  // all before are over
    std::size_t running_count_ = 0;
    std::vector<NetworkEvent> events_;  // that nobody has been told of, in order
    std::size_t told_count_ = 0;
    PlainList<std::uint32_t> over_;  // nodes whose successors have to hear of it
    std::uint64_t flow_count_ = 0;
    std::vector<std::uint32_t> parts_on_link_;  // all zero between two uses
};

}  // namespace ukemi::sim
