// hierarchy_test.cpp — from which size of the cluster on a hierarchical all-reduce beats a flat
// ring.
//
// Every link is alike: a latency α and a rate B; p ranks on each of h hosts share one to the
// others. Over N = p·h ranks a flat ring of S bytes takes 2(N−1)·(α + S/(N·B)). By dimensions
// (PowerAI DDL; RUNTIME §4.1), with p rings over one link in the second, it is 2(p−1)·(α + S/(p·B))
// + 2(h−1)·(α + S/(h·B)). So it saves (p−1)·(h−1) latencies a way, pays (p−1)·(h−1)/N · S/B more
// for the shared link, and is faster where h > S/(p·α·B).
#include <catch2/catch.hpp>

#include "sim/network/collective_runs.hpp"
#include "tests/support/whole_hops.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

constexpr std::int32_t per_host = 4;
constexpr double rate = 12.5e9;  // bytes/s
const Duration latency = nanoseconds(10'000);

double simulated_s(Collective algorithm, std::int32_t hosts, Bytes size) {
    const std::int32_t ranks = hosts * per_host;
    FlowNetwork network;
    CollectiveRuns runs(network);
    const auto link = [&](Duration delay) {
        return network.add_link({BytesPerSecond::of(rate), delay});
    };
    std::vector<LinkId> up;  // of each rank, then of each host; so too down
    std::vector<LinkId> down;
    for (std::int32_t i = 0; i < ranks + hosts; ++i) {
        up.push_back(link(latency));
        down.push_back(link(Duration{}));
    }
    std::vector<LinkId> route;
    const Router router = [&](std::int32_t from, std::int32_t to) {
        const bool inside = from / per_host == to / per_host;
        const std::int32_t a = inside ? from : ranks + from / per_host;
        const std::int32_t b = inside ? to : ranks + to / per_host;
        route = {up[static_cast<std::size_t>(a)], down[static_cast<std::size_t>(b)]};
        return whole_hops(route);
    };
    const auto graph = all_reduce_graph(algorithm, ranks, per_host);
    runs.start(graph, std::make_shared<const std::vector<RouteId>>(runs.routes_of(*graph, router)),
               size, Instant{});
    const auto end = runs.run_until(Instant::never());
    REQUIRE(end.has_value());
    return to_seconds(end->at.since_start());
}

double ring_s(double ranks, double size) {
    return 2 * (ranks - 1) * (to_seconds(latency) + size / (ranks * rate));
}

}  // namespace

TEST_CASE("hierarchy: beats a flat ring from the cluster size on at which its formula does",
          "[network][golden]") {
    // S/(p·α·B) is 8.4 hosts, then 4.4, then 2.2: 36, 20 and 12 ranks.
    for (const auto& [size, first] :
         {std::pair(mebibytes(4), 9), {bytes(2'200'000), 5}, {bytes(1'100'000), 3}}) {
        const auto s = static_cast<double>(size.raw());
        const double threshold = s / (per_host * to_seconds(latency) * rate);
        std::int32_t faster_from = 0;
        for (std::int32_t hosts = 2; hosts <= 12; ++hosts) {
            const double flat = simulated_s(Collective::ring, hosts, size);
            const double by_host = simulated_s(Collective::hierarchical, hosts, size);
            CAPTURE(size.raw(), hosts, flat, by_host);
            CHECK(flat == Approx(ring_s(hosts * per_host, s)).epsilon(1e-3));
            // Rings that share a link may fall out of step: then one sends while another waits, and
            // some of the latency hides.
            const double formula = ring_s(per_host, s) + ring_s(hosts, s);
            CHECK(by_host < formula * 1.001);
            CHECK(by_host > formula * 0.95);
            CHECK((by_host < flat) == (hosts > threshold));
            if (by_host < flat && faster_from == 0) faster_from = hosts;
        }
        CHECK(faster_from == first);
    }
}
