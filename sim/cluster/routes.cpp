// routes.cpp — one reverse Dijkstra a destination; paths walk down its distances.
#include "sim/cluster/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <compare>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

struct Cost {
    std::uint32_t network_hops = 0;
    std::int64_t latency_ns = 0;
    std::uint32_t hops = 0;

    friend auto operator<=>(const Cost&, const Cost&) = default;
    friend Cost operator+(const Cost& a, const Cost& b) {
        if (a.hops == unreachable || b.hops == unreachable) return far();
        return {a.network_hops + b.network_hops, a.latency_ns + b.latency_ns, a.hops + b.hops};
    }
    static constexpr std::uint32_t unreachable = std::numeric_limits<std::uint32_t>::max();
    static constexpr Cost far() {
        return {unreachable, std::numeric_limits<std::int64_t>::max(), unreachable};
    }
};

Cost cost_of(const Link& link) {
    return {link.kind == LinkKind::network ? 1U : 0U, link.latency.raw(), 1U};
}

struct Edge {
    LinkId link{};
    Cost cost;
};
// Every link against its direction, so that a search from a destination finds all who reach it.
using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Edge>;

// Not out of a device that lets nothing through, unless the path ends (here: begins) there.
struct Passable {
    const Graph* graph = nullptr;
    const std::vector<char>* lets_through = nullptr;
    std::size_t destination = 0;

    template <class Descriptor>
    bool operator()(const Descriptor& edge) const {
        const std::size_t at = boost::source(edge, *graph);
        return at == destination || (*lets_through)[at] != 0;
    }
};

struct Search {
    std::vector<Cost> costs;
    bool complete = true;
    Cost settled;  // else: what is no farther than this is final
};

// Ends a search at a device, whose cost is final then, as are those of all nearer ones.
struct StopAt : boost::default_dijkstra_visitor {
    struct Reached {};
    explicit StopAt(std::size_t device) : device_(device) {}

    template <class Vertex, class AnyGraph>
    void examine_vertex(Vertex at, const AnyGraph&) const {
        if (at == device_) throw Reached{};
    }

private:
    std::size_t device_;
};

constexpr std::size_t costs_kept_max = std::size_t{1} << 24;  // 400 MB

// SplitMix64's finaliser (Steele et al., OOPSLA 2014): every bit of the input reaches every bit.
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

Graph reversed(const Topology& topology) {
    std::vector<std::pair<std::size_t, std::size_t>> ends;
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < topology.links().size(); ++i) {
        const Link& link = topology.links()[i];
        ends.emplace_back(ukemi::index_of(link.to), ukemi::index_of(link.from));
        edges.push_back({static_cast<LinkId>(i), cost_of(link)});
    }
    return Graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), edges.begin(),
                 topology.devices().size());
}

}  // namespace

struct Routes::State {
    struct Step {
        LinkId link{};
        std::uint32_t to = 0;
        Cost cost;
        LinkRate rate;
    };

    explicit State(const Topology& topology) : graph(reversed(topology)) {
        const std::size_t count = topology.devices().size();
        steps.resize(count);
        lets_through.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            lets_through[i] = topology.devices()[i].kind == DeviceKind::gpu ? 0 : 1;
            names.push_back(topology.full_name(static_cast<DeviceId>(i)));
        }
        for (std::size_t i = 0; i < topology.links().size(); ++i) {
            const Link& link = topology.links()[i];
            steps[ukemi::index_of(link.from)].push_back({static_cast<LinkId>(i),
                                                         ukemi::index_of(link.to),
                                                         cost_of(link),
                                                         {link.bandwidth, link.latency}});
        }
        rates = topology.link_rates();
    }

    // Costs from devices to this one, final for all that are no farther than `from`.
    const std::vector<Cost>& distances_to(DeviceId to, DeviceId from) {
        const auto found = searches.find(ukemi::index_of(to));
        if (found != searches.end()) {
            Search& search = found->second;
            if (!search.complete && search.costs[ukemi::index_of(from)] > search.settled) {
                search = searched(to, nullptr);  // asked a second time: the whole of it
            }
            return search.costs;
        }
        // Paths are kept, so distances are seldom asked for twice; they may not fill a machine.
        if ((searches.size() + 1) * names.size() > costs_kept_max) searches.clear();
        return searches.emplace(ukemi::index_of(to), searched(to, &from)).first->second.costs;
    }

    Search searched(DeviceId to, const DeviceId* until) const {
        const boost::filtered_graph<Graph, Passable> passable(
            graph, Passable{&graph, &lets_through, ukemi::index_of(to)});
        Search search;
        search.costs.assign(names.size(), Cost::far());
        const StopAt stop{until == nullptr ? names.size() : ukemi::index_of(*until)};
        try {
            boost::dijkstra_shortest_paths(
                passable, boost::vertex(ukemi::index_of(to), graph),
                boost::weight_map(boost::get(&Edge::cost, graph))
                    .distance_map(boost::make_iterator_property_map(
                        search.costs.begin(), boost::get(boost::vertex_index, graph)))
                    .distance_inf(Cost::far())
                    .distance_zero(Cost{})
                    .visitor(stop));
        } catch (const StopAt::Reached&) {  // how a search of Boost.Graph ends early
            search.complete = false;
            search.settled = search.costs[ukemi::index_of(*until)];
        }
        return search;
    }

    std::vector<LinkId> walk(DeviceId from, DeviceId to, std::uint64_t flow) {
        const std::vector<Cost>& left = distances_to(to, from);
        std::uint32_t at = ukemi::index_of(from);
        if (left[at] == Cost::far()) {
            throw InputError(
                "topology", "",
                fmt::format("no path from {} to {}", names[at], names[ukemi::index_of(to)]));
        }
        const std::uint64_t seed = mixed(
            mixed(std::uint64_t{ukemi::index_of(from)} << 32 | ukemi::index_of(to)) ^ mixed(flow));
        std::vector<LinkId> path;
        std::vector<const Step*> best;
        while (at != ukemi::index_of(to)) {
            best.clear();
            for (const Step& step : steps[at]) {
                const bool enters = step.to == ukemi::index_of(to) || lets_through[step.to] != 0;
                if (enters && step.cost + left[step.to] == left[at]) best.push_back(&step);
            }
            INVARIANT(!best.empty());
            const Step& chosen = *best[mixed(seed ^ at) % best.size()];
            path.push_back(chosen.link);
            at = chosen.to;
        }
        return path;
    }

    Graph graph;
    std::vector<std::vector<Step>> steps;  // by device, in the order of links
    std::vector<char> lets_through;
    std::vector<std::string> names;
    std::vector<LinkRate> rates;
    std::map<std::uint32_t, Search> searches;  // by destination
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::vector<LinkId>> paths;
};

Routes::Routes(const Topology& topology) : state_(std::make_unique<State>(topology)) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

std::span<const LinkId> Routes::route(DeviceId from, DeviceId to, std::uint64_t flow) {
    INVARIANT(ukemi::index_of(from) < state_->names.size() &&
              ukemi::index_of(to) < state_->names.size());
    if (from == to) return {};
    const std::tuple key{ukemi::index_of(from), ukemi::index_of(to), flow};
    const auto found = state_->paths.find(key);
    if (found != state_->paths.end()) return found->second;
    return state_->paths.emplace(key, state_->walk(from, to, flow)).first->second;
}

bool Routes::connected(DeviceId from, DeviceId to) {
    INVARIANT(ukemi::index_of(from) < state_->names.size() &&
              ukemi::index_of(to) < state_->names.size());
    return state_->distances_to(to, from)[ukemi::index_of(from)] != Cost::far();
}

Duration Routes::latency(DeviceId from, DeviceId to, std::uint64_t flow) {
    Duration sum;
    for (const LinkId link : route(from, to, flow))
        sum += state_->rates[ukemi::index_of(link)].latency;
    return sum;
}

BytesPerSecond Routes::bandwidth(DeviceId from, DeviceId to, std::uint64_t flow) {
    BytesPerSecond least = BytesPerSecond::max();
    for (const LinkId link : route(from, to, flow)) {
        least = std::min(least, state_->rates[ukemi::index_of(link)].bandwidth);
    }
    return least;
}

void check_connected(const Topology& topology) {
    const std::vector<DeviceId> workers = topology.workers();
    if (workers.size() < 2) return;
    Routes routes(topology);
    // A thoroughfare that everybody reaches joins them all: every cable has both directions.
    for (const Link& link : topology.links()) {
        if (link.from != workers.front()) continue;
        if (topology.device(link.to).kind == DeviceKind::gpu) continue;
        const auto reaches = [&](DeviceId worker) { return routes.connected(worker, link.to); };
        if (std::all_of(workers.begin(), workers.end(), reaches)) return;
    }
    for (std::size_t j = 0; j < workers.size(); ++j) {
        for (std::size_t i = j + 1; i < workers.size(); ++i) {
            if (routes.connected(workers[i], workers[j])) continue;
            throw InputError("topology", "",
                             fmt::format("no path from {} to {}", topology.full_name(workers[i]),
                                         topology.full_name(workers[j])));
        }
    }
}

}  // namespace ukemi::sim
