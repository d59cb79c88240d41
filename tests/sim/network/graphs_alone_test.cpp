// graphs_alone_test.cpp — collectives whose time on links of their own is known, against the same
// played from the start each time.
#include <catch2/catch.hpp>
#include <vector>

#include "base/rng.hpp"
#include "sim/network/collective_runs.hpp"
#include "tests/support/whole_hops.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

// Some collectives on one switch, each started again and again with few different sizes.
struct Repeated {
    std::int32_t hosts = 8;
    struct Placing {
        bool waits = true;  // the latency of its links
        Collective collective{};
        std::int32_t first = 0;
        std::int32_t ranks = 2;
    };
    std::vector<Placing> placings;
    struct Start {
        std::size_t placing = 0;
        Bytes bytes;
        Instant at;
    };
    std::vector<Start> starts;
    struct Change {
        Instant at;
        LinkId link{};
        BytesPerSecond bandwidth;
    };
    std::vector<Change> changes;
};

Repeated repeated(std::uint64_t seed) {
    RandomStream random(seed, "test/graphs_alone");
    Repeated all;
    constexpr std::array collectives = {Collective::halving_doubling, Collective::clique,
                                        Collective::binary_tree, Collective::star};
    for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
        Repeated::Placing placing;
        placing.waits = random.chance(0.6);
        placing.collective = collectives[static_cast<std::size_t>(random.integer(0, 3))];
        placing.first = static_cast<std::int32_t>(random.integer(0, 4));
        placing.ranks = static_cast<std::int32_t>(random.integer(2, all.hosts - placing.first));
        all.placings.push_back(placing);
    }
    for (std::int64_t i = random.integer(4, 14); i > 0; --i) {
        const auto placing = static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(all.placings.size()) - 1));
        all.starts.push_back({placing, bytes(100'000 * random.integer(1, 2)),
                              Instant::at(nanoseconds(random.integer(0, 600'000)))});
    }
    for (std::int64_t i = random.chance(0.5) ? random.integer(1, 4) : 0; i > 0; --i) {
        all.changes.push_back(
            {Instant::at(nanoseconds(random.integer(0, 600'000))),
             static_cast<LinkId>(random.integer(0, 2 * all.hosts - 1)),
             BytesPerSecond::of(1e9 * static_cast<double>(random.integer(1, 9)))});
    }
    return all;
}

std::vector<Instant> ends(const Repeated& all, bool known, std::uint64_t& flows) {
    FlowNetwork network;
    CollectiveRuns runs(network);
    for (std::int32_t i = 0; i < 2 * all.hosts; ++i) {
        network.add_link({BytesPerSecond::of(5e9), nanoseconds(700)});
    }
    for (const Repeated::Change& change : all.changes) {
        network.plan_bandwidth(change.at, change.link, change.bandwidth);
    }
    std::vector<std::shared_ptr<PlacedGraph>> placed;
    for (const Repeated::Placing& placing : all.placings) {
        std::vector<LinkId> links;
        const Router router = [&](std::int32_t from, std::int32_t to) {
            links = {LinkId(2 * (placing.first + from)), LinkId(2 * (placing.first + to) + 1)};
            return whole_hops(links);
        };
        const auto graph = all_reduce_graph(placing.collective, placing.ranks);
        std::vector<RouteId> routes = runs.routes_of(*graph, router);
        for (RouteId& route : routes) {
            const auto hops = network.hops(route);
            const std::vector<Hop> same(hops.begin(), hops.end());
            if (!placing.waits) route = network.add_route(same, Duration{});
        }
        placed.push_back(runs.place(graph, std::move(routes)));
    }
    for (const Repeated::Start& start : all.starts) {
        const std::shared_ptr<PlacedGraph>& one = placed[start.placing];
        if (known) {
            runs.start(one, start.bytes, start.at);
        } else {
            runs.start(one->graph, std::make_shared<const std::vector<RouteId>>(one->routes),
                       start.bytes, start.at);
        }
    }
    std::vector<Instant> ends(all.starts.size());
    for (;;) {
        const auto event = runs.run_until(network.next_at());
        REQUIRE(network.fault() == "");
        if (!event && network.next_at() == Instant::never()) break;
        if (!event || event->kind != NetworkEvent::Kind::run_finished) continue;
        CHECK(event->exact);
        ends[event->number] = event->at;
    }
    flows = runs.flow_count();
    return ends;
}

}  // namespace

TEST_CASE("graphs alone: a known time changes nothing, what comes across it or not",
          "[network][property]") {
    std::uint64_t flows_known = 0;
    std::uint64_t flows_played = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        const Repeated all = repeated(seed);
        std::uint64_t flows = 0;
        const std::vector<Instant> known = ends(all, true, flows);
        flows_known += flows;
        const std::vector<Instant> played = ends(all, false, flows);
        flows_played += flows;
        for (std::size_t i = 0; i < known.size(); ++i) {
            CAPTURE(i);
            CHECK(std::abs(known[i].raw() - played[i].raw()) <= 1);
        }
    }
    CHECK(flows_known < flows_played);
}

TEST_CASE("graphs alone: the second time on quiet links takes no flow", "[network]") {
    Repeated twice;
    twice.placings = {{true, Collective::halving_doubling, 0, 8}};
    twice.starts = {{0, bytes(100'000), {}}, {0, bytes(100'000), Instant::at(milliseconds(1))}};
    std::uint64_t flows = 0;
    const std::vector<Instant> both = ends(twice, true, flows);
    CHECK(both[1] - both[0] == milliseconds(1));
    CHECK(flows == 48);
    // A change of any link has it played again.
    twice.changes = {{Instant::at(nanoseconds(500'000)), LinkId{3}, BytesPerSecond::of(4e9)}};
    CHECK(ends(twice, true, flows)[1] - both[0] > milliseconds(1));
    CHECK(flows == 96);
}
