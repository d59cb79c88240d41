// tree_pipeline_test.cpp — the double binary tree is cut as finely as suits a buffer's size.
#include "sim/network/tree_pipeline.hpp"
#include "tests/support/whole_hops.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::sim;

namespace {

// Hosts on one switch: link 2i leads out of host i, 2i + 1 into it.
struct Hosts {
    Hosts(std::int32_t count, double bandwidth, std::int64_t latency_ns) : ranks(count) {
        for (std::int32_t i = 0; i < 2 * count; ++i) {
            network.add_link({BytesPerSecond::of(bandwidth), nanoseconds(latency_ns)});
        }
    }
    Router router() {
        return [this](std::int32_t from, std::int32_t to) {
            links = {static_cast<LinkId>(2 * from), static_cast<LinkId>(2 * to + 1)};
            return whole_hops(links);
        };
    }
    // Of a run that was started on the idle network.
    double time_s() {
        const Instant begin = network.now();
        const auto event = runs.run_until(Instant::never());
        REQUIRE(event.has_value());
        return to_seconds(event->at - begin);
    }
    double piped_s(std::int64_t size) {
        TreePipeline pipeline(runs, network, ranks, router());
        pipeline.start(runs, bytes(size), network.now());
        return time_s();
    }
    double in_chunks_s(std::int32_t chunks, std::int64_t size) {
        const auto graph =
            std::make_shared<const TransferGraph>(double_binary_tree_schedule(ranks, chunks));
        const auto routes =
            std::make_shared<const std::vector<RouteId>>(runs.routes_of(*graph, router()));
        runs.start(graph, routes, bytes(size), network.now());
        return time_s();
    }

    std::int32_t ranks = 0;
    FlowNetwork network;
    CollectiveRuns runs{network};
    std::array<LinkId, 2> links{};
};

}  // namespace

TEST_CASE("tree pipeline: a large buffer comes near what its bandwidth allows", "[network]") {
    constexpr double bandwidth = 12.5e9;
    constexpr std::int64_t size = 100 << 20;
    for (const auto& [ranks, most] : {std::pair{16, 1.06}, {64, 1.1}, {100, 1.1}, {256, 1.2}}) {
        CAPTURE(ranks);
        Hosts hosts(ranks, bandwidth, 1000);
        const double bound_s = 2.0 * static_cast<double>(size) / bandwidth;
        const double took_s = hosts.piped_s(size);
        CAPTURE(took_s / bound_s);
        CHECK(took_s < most * bound_s);
        CHECK(took_s >= bound_s);
    }
}

TEST_CASE("tree pipeline: no other number of chunks is much better", "[network][property]") {
    for (const std::int32_t ranks : {2, 3, 7, 16, 33}) {
        for (const std::int64_t latency_ns : {200, 2000, 20'000}) {
            for (const std::int64_t size : {1'000, 100'000, 3'000'000, 20'000'000}) {
                CAPTURE(ranks, latency_ns, size);
                Hosts hosts(ranks, 12.5e9, latency_ns);
                const double took_s = hosts.piped_s(size);
                double best_s = took_s;
                for (std::int32_t chunks = 1; chunks <= 128; chunks *= 2) {
                    const double other_s = hosts.in_chunks_s(chunks, size);
                    best_s = std::min(best_s, other_s);
                }
                CHECK(took_s < 1.1 * best_s);
            }
        }
    }
}
