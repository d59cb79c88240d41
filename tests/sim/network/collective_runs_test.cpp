// collective_runs_test.cpp — collectives on a switch: closed forms, several at once, cancellation.
#include "sim/network/collective_runs.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "studies/schedules/schedules.hpp"
#include "tests/support/whole_hops.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

// Hosts on one switch: link 2i leads out of host i, 2i + 1 into it.
class Switch {
public:
    Switch(std::int32_t hosts, double bandwidth, std::int64_t latency_ns) : runs_(network_) {
        for (std::int32_t i = 0; i < 2 * hosts; ++i) {
            network_.add_link({BytesPerSecond::of(bandwidth), nanoseconds(latency_ns)});
        }
    }
    FlowNetwork& network() { return network_; }
    CollectiveRuns& runs() { return runs_; }

    RunId start(const Schedule& schedule, std::int64_t size, std::int64_t at_ns = 0) {
        auto graph = std::make_shared<const TransferGraph>(schedule);
        std::vector<LinkId> links;
        auto routes = std::make_shared<const std::vector<RouteId>>(
            runs_.routes_of(*graph, [&](std::int32_t from, std::int32_t to) {
                links = {static_cast<LinkId>(2 * from), static_cast<LinkId>(2 * to + 1)};
                return whole_hops(links);
            }));
        return runs_.start(graph, routes, Bytes::of(size), Instant::at(nanoseconds(at_ns)));
    }
    // When the next run ends, in ns.
    std::int64_t next_end() {
        const auto event = runs_.run_until(Instant::never());
        REQUIRE(event.has_value());
        CHECK(event->kind == NetworkEvent::Kind::run_finished);
        return event->at.raw();
    }

private:
    FlowNetwork network_;
    CollectiveRuns runs_;
};

double ns(double bytes, double bandwidth) { return bytes / bandwidth * 1e9; }

}  // namespace

// NETWORK §4; latency α is that of a route, two links.
TEST_CASE("collective runs: times on a switch are the closed forms", "[network][property]") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/collective_runs");
        const auto n = static_cast<std::int32_t>(random.integer(2, 24));
        const double bandwidth = 1e8 * (1 + 100 * random.uniform());
        const std::int64_t latency = random.integer(0, 5000);
        const double alpha = 2.0 * static_cast<double>(latency);
        const std::int64_t chunk = random.integer(1, 100'000);
        const double ranks = n;
        const auto time = [&](const Schedule& schedule, std::int64_t size) {
            Switch cluster(n, bandwidth, latency);
            cluster.start(schedule, size);
            return static_cast<double>(cluster.next_end());
        };
        const double size = static_cast<double>(chunk * n);
        CHECK(time(all_reduce_schedule(Collective::ring, n), chunk * n) ==
              Approx(2 * (ranks - 1) * (alpha + ns(size / ranks, bandwidth))).margin(1));
        CHECK(time(all_reduce_schedule(Collective::star, n), chunk) ==
              Approx(2 * (alpha + (ranks - 1) * ns(static_cast<double>(chunk), bandwidth)))
                  .margin(1));
    }
    for (const std::int32_t n : {2, 4, 8, 16, 32}) {
        Switch cluster(n, 1e9, 1000);
        cluster.start(all_reduce_schedule(Collective::halving_doubling, n), 32'000);
        const double steps = std::log2(n);
        CHECK(static_cast<double>(cluster.next_end()) ==
              Approx(2 * steps * 2000 + 2 * (n - 1.0) / n * 32'000).margin(1));
    }
}

// nccl-tests, doc/PERFORMANCE.md: the bus bandwidth, S/t times the operation's factor, is that of
// the links, whatever the number of ranks.
TEST_CASE("collective runs: bus bandwidths are the links' bandwidth", "[network][property]") {
    constexpr double bandwidth = 1e9;  // a byte a nanosecond
    for (const std::int32_t n : {2, 3, 5, 8, 13, 16}) {
        const std::int64_t size = std::int64_t{3600} * n * n;
        const auto bus_bandwidth = [&](const Schedule& schedule, double factor) {
            Switch cluster(n, bandwidth, 0);
            cluster.start(schedule, size);
            return static_cast<double>(size) / static_cast<double>(cluster.next_end()) * 1e9 *
                   factor;
        };
        CAPTURE(n);
        const double part = (n - 1.0) / n;
        CHECK(bus_bandwidth(all_reduce_schedule(Collective::ring, n), 2 * part) ==
              Approx(bandwidth).epsilon(1e-4));
        CHECK(bus_bandwidth(all_reduce_schedule(Collective::clique, n), 2 * part) ==
              Approx(bandwidth).epsilon(1e-4));
        CHECK(bus_bandwidth(studies::ring_reduce_scatter_schedule(n), part) ==
              Approx(bandwidth).epsilon(1e-4));
        CHECK(bus_bandwidth(studies::ring_all_gather_schedule(n), part) ==
              Approx(bandwidth).epsilon(1e-4));
        // Its buffer is that of all ranks: each has a part of it.
        CHECK(bus_bandwidth(studies::all_to_all_schedule(n), part / n) ==
              Approx(bandwidth).epsilon(1e-4));
        // A chain of m chunks takes n + m − 2 of their times: NETWORK §4.
        CHECK(bus_bandwidth(studies::chain_broadcast_schedule(n, 900), 1) ==
              Approx(bandwidth * 900 / (n + 898)).epsilon(1e-3));
    }
}

TEST_CASE("collective runs: two at once share the links, one later ends later", "[network]") {
    Switch cluster(4, 1e9, 0);
    const Schedule ring = all_reduce_schedule(Collective::ring, 4);
    cluster.start(ring, 4000);
    const RunId later = cluster.start(ring, 4000, 3000);
    CHECK(cluster.next_end() == 9000);  // 3000 alone, then half the rate for the other 3000
    CHECK(cluster.next_end() == 12'000);
    CHECK(cluster.runs().running_count() == 0);
    cluster.runs().cancel(later);  // it is over: nothing
}

TEST_CASE("collective runs: one that is called off leaves the links to the others", "[network]") {
    Switch cluster(4, 1e9, 0);
    const Schedule ring = all_reduce_schedule(Collective::ring, 4);
    const RunId first = cluster.start(ring, 4000);
    cluster.start(ring, 4000);
    CHECK_FALSE(cluster.runs().run_until(Instant::at(nanoseconds(3000))).has_value());
    CHECK(cluster.network().now() == Instant::at(nanoseconds(3000)));
    cluster.runs().cancel(first);
    CHECK(cluster.next_end() == 7500);
    CHECK(cluster.network().flow_count() == 0);
    CHECK_FALSE(cluster.runs().run_until(Instant::never()).has_value());
}

TEST_CASE("collective runs: fluid ones can be called off, and follow each other", "[network]") {
    Switch cluster(4, 1e9, 0);
    const auto plan = cluster.runs().plan_of(
        phased_all_reduce(Collective::ring, 4), [](std::int32_t from, std::int32_t to) {
            static std::array<LinkId, 2> links;
            links = {static_cast<LinkId>(2 * from), static_cast<LinkId>(2 * to + 1)};
            return whole_hops(links);
        });
    const RunId first = cluster.runs().start(plan, Bytes::of(4000), {});
    cluster.runs().start(plan, Bytes::of(4000), {});
    CHECK_FALSE(cluster.runs().run_until(Instant::at(nanoseconds(3000))).has_value());
    cluster.runs().cancel(first);
    CHECK(cluster.next_end() == 7500);
    CHECK(cluster.network().flow_count() == 0);
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t begin = cluster.network().now().raw();
        cluster.runs().start(plan, Bytes::of(4000), cluster.network().now());
        REQUIRE(cluster.next_end() == begin + 6000);
    }
    cluster.runs().cancel(first);  // long over
    CHECK_THROWS_WITH(cluster.runs().start(plan, Bytes::of(-1), {}),
                      "network: -1 bytes cannot be sent");
}

TEST_CASE("collective runs: a link that fails is told and holds what crosses it", "[network]") {
    Switch cluster(4, 1e9, 0);
    cluster.start(all_reduce_schedule(Collective::ring, 4), 4000);
    cluster.network().plan_bandwidth(Instant::at(nanoseconds(500)), LinkId{2},
                                     BytesPerSecond::of(0));
    const auto event = cluster.runs().run_until(Instant::never());
    REQUIRE(event.has_value());
    CHECK(event->kind == NetworkEvent::Kind::link_changed);
    CHECK(event->number == 2);
    CHECK(event->at == Instant::at(nanoseconds(500)));
    CHECK_FALSE(cluster.runs().run_until(Instant::never()).has_value());
    CHECK(cluster.runs().running_count() == 1);
}

TEST_CASE("collective runs: one rank, and nothing to send, are over at once", "[network]") {
    Switch cluster(3, 1e9, 1000);
    cluster.start(all_reduce_schedule(Collective::ring, 1), 4000, 70);
    CHECK(cluster.next_end() == 70);
    cluster.start(all_reduce_schedule(Collective::ring, 3), 0, 90);
    CHECK(cluster.next_end() == 90);
    CHECK(cluster.runs().flow_count() == 0);
}

TEST_CASE("collective runs: equal runs give equal events", "[network]") {
    const auto run = [] {
        Switch cluster(13, 3e9, 77);
        cluster.start(double_binary_tree_schedule(13, 9), 1'000'000);
        cluster.start(all_reduce_schedule(Collective::ring, 13), 777'777, 1000);
        cluster.start(studies::parameter_server_schedule(10, 3), 55'555, 20'000);
        std::vector<std::int64_t> ends;
        for (int i = 0; i < 3; ++i) ends.push_back(cluster.next_end());
        ends.push_back(cluster.network().now_ticks());
        return ends;
    };
    CHECK(run() == run());
}

TEST_CASE("collective runs: bad input is refused", "[network]") {
    Switch cluster(2, 1e9, 0);
    const auto graph =
        std::make_shared<const TransferGraph>(all_reduce_schedule(Collective::ring, 2));
    CHECK_THROWS_WITH(
        cluster.runs().routes_of(*graph,
                                 [](std::int32_t, std::int32_t) { return std::span<const Hop>(); }),
        "network: there is no path from rank 0 to rank 1");
    const auto routes = std::make_shared<const std::vector<RouteId>>(2);
    CHECK_THROWS_WITH(cluster.runs().start(graph, routes, Bytes::of(10), {}, 4),
                      "network: 10 bytes are no whole number of elements of 4");
    CHECK_THROWS_AS(cluster.runs().start(graph, routes, Bytes::of(-4), {}, 4), InputError);
}
