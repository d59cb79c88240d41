// dimension_search_test.cpp — the search against every grid there is, played; where flat wins; what
// it says.
#include "sim/step/dimension_search.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/placed_collective.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

namespace {

using kernels::AxisExchange;
using kernels::GridAxis;

Duration alone(const sim::Topology& topology, std::span<const GridAxis> axes, Bytes size) {
    const auto workers = topology.workers();
    sim::ClusterNetwork network(topology);
    const sim::PlacedCollective placed(network, axes, workers);
    placed.start(network, size, Instant{});
    return network.runs().run_until(Instant::never())->at.since_start();
}

// Calls `take` with every grid of two axes and more: all factors, orders and exchanges.
void for_all_grids(std::int32_t ranks, const std::function<void(std::span<const GridAxis>)>& take) {
    std::vector<GridAxis> axes;
    const std::function<void(std::size_t)> exchanges = [&](std::size_t axis) {
        if (axis == axes.size()) return take(axes);
        for (const auto exchange :
             {AxisExchange::ring, AxisExchange::halving_doubling, AxisExchange::direct}) {
            const auto size = static_cast<std::uint32_t>(axes[axis].size);
            if (exchange == AxisExchange::halving_doubling && !std::has_single_bit(size)) continue;
            axes[axis].exchange = exchange;
            exchanges(axis + 1);
        }
    };
    const std::function<void(std::int32_t)> factors = [&](std::int32_t stride) {
        if (stride == ranks && axes.size() > 1) {
            const std::vector<GridAxis> kept = axes;
            const auto by_stride = [](const GridAxis& axis) { return axis.stride; };
            do {
                exchanges(0);
            } while (std::ranges::next_permutation(axes, {}, by_stride).found);
            axes = kept;
        }
        for (std::int32_t size = 2; size * stride <= ranks; ++size) {
            if (ranks / stride % size != 0) continue;
            axes.push_back({size, stride});
            factors(stride * size);
            axes.pop_back();
        }
    };
    factors(1);
}

sim::FabricSpec racks_of(std::uint32_t machines, double oversubscription) {
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::leaf_spine;
    fabric.machines_per_leaf = machines;
    fabric.oversubscription = oversubscription;
    return fabric;
}

}  // namespace

TEST_CASE("dimension search: as fast as the fastest of all grids", "[dimension_search]") {
    struct Case {
        const char* machine;
        std::uint32_t machines;
        sim::FabricSpec fabric;
    };
    const Case cases[] = {{"ibm_s822lc", 2, {}},
                          {"ibm_s822lc", 3, {}},
                          {"p3.2xlarge", 8, racks_of(2, 4)},
                          {"p3.2xlarge", 12, racks_of(4, 2)},
                          {"p3.8xlarge", 4, racks_of(2, 3)},
                          {"dgx1_v100", 2, {}}};
    for (const Case& one : cases) {
        const sim::Topology topology = sim::build_cluster(one.machine, one.machines, one.fabric);
        const auto workers = topology.workers();
        const std::int32_t per_host = sim::workers_per_machine(topology, workers);
        for (const Bytes size : {bytes(20'000), mebibytes(25)}) {
            CAPTURE(one.machine, one.machines, size.raw());
            const sim::SearchedDimensions searched =
                sim::search_dimensions(topology, workers, per_host, size, "test");
            Duration fastest = Duration::max();
            std::int64_t count = 0;
            for_all_grids(static_cast<std::int32_t>(workers.size()), [&](const auto& axes) {
                fastest = std::min(fastest, alone(topology, axes, size));
                ++count;
            });
            REQUIRE(count > 10);
            REQUIRE_FALSE(searched.grids.empty());
            CHECK(searched.grids.front().time.raw() == fastest.raw());
            CHECK(alone(topology, searched.grids.front().axes, size) == fastest);
        }
    }
}

TEST_CASE("dimension search: flat wins where all links are alike and messages long",
          "[dimension_search]") {
    // On one switch every exchange of 2 (n - 1)/n of the buffer takes as long; a ring pays least
    // for having many rounds if there is no latency to pay.
    sim::FabricSpec fabric;
    fabric.latency = nanoseconds(1);
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 6, fabric);
    const auto workers = topology.workers();
    const auto searched = sim::search_dimensions(topology, workers, 1, mebibytes(256), "test");
    CHECK_FALSE(searched.grid_wins());
    CHECK_THAT(sim::words_of(searched),
               Catch::StartsWith("no dimensions are faster than " + searched.named.front().name));
    sim::StepJob job;
    job.axes = {{2, 1}, {3, 2}};
    sim::choose_dimensions(job, searched);
    CHECK(job.axes.empty());
    CHECK(job.collective == searched.named.front().algorithm);
    const auto prime =
        sim::search_dimensions(topology, std::span(workers).first(5), 1, bytes(1), "");
    CHECK(prime.grids.empty());
    CHECK_FALSE(prime.grid_wins());
}

TEST_CASE("dimension search: three levels and more are found and named", "[dimension_search]") {
    const sim::Topology topology = sim::build_cluster("ibm_s822lc", 16, racks_of(4, 4));
    const auto workers = topology.workers();
    sim::Routes routes(topology);
    const auto levels = sim::group_levels(topology, routes, workers);
    REQUIRE(levels.size() == 4);
    CHECK(levels[0].block == 2);
    CHECK(levels[0].units == "GPUs");
    CHECK(levels[1].block == 4);
    CHECK(levels[1].units == "sockets");
    CHECK(levels[2].block == 16);
    CHECK(levels[2].units == "machines");
    CHECK(levels[3].block == 64);
    CHECK(levels[3].units == "racks");
    const auto searched = sim::search_dimensions(topology, workers, 4, mebibytes(1), "test");
    REQUIRE(searched.grid_wins());
    CHECK(searched.grids.front().axes.size() >= 3);
    CHECK(kernels::ranks_of(searched.grids.front().axes) == 64);
    CHECK_THAT(searched.grids.front().words, Catch::Contains(" x ") && Catch::Contains("GPUs ("));
    const auto again = sim::search_dimensions(topology, workers, 4, mebibytes(1), "test");
    CHECK(sim::words_of(again) == sim::words_of(searched));
}

TEST_CASE("dimension search: steps send along its axes, and those who are left search again",
          "[dimension_search]") {
    const sim::Topology topology = sim::build_cluster("ibm_s822lc", 4);
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.assign(job.workers.size(), milliseconds(90));
    job.batch = 32;
    job.buckets = {{"all", mebibytes(1), 1.0}};
    job.launch.overhead = {};
    job.steps = 4;
    job.searched_message = mebibytes(1);
    sim::search_again(job, topology);
    REQUIRE_FALSE(job.axes.empty());
    sim::StepEvents events;
    events.departures = {{Instant{} + milliseconds(150), 0, {12, 13, 14, 15}, {}}};
    const auto result = sim::run_steps(topology, std::span(&job, 1), {}, {}, events).front();
    REQUIRE(result.steps.size() == 4);
    CHECK(result.steps[0].parts.sending == alone(topology, job.axes, mebibytes(1)));
    const std::vector<std::int32_t> gone = {12, 13, 14, 15};
    const sim::StepJob left = sim::without(job, topology, gone, 1);
    REQUIRE_FALSE(left.axes.empty());
    CHECK(kernels::ranks_of(left.axes) == 12);
    CHECK(result.steps[3].parts.sending < result.steps[0].parts.sending);
}

TEST_CASE("dimension search: a group that is too large is refused", "[dimension_search]") {
    const sim::Topology topology = sim::build_cluster("cpu_16_core", 1025);
    CHECK_THROWS_WITH(sim::search_dimensions(topology, topology.workers(), 1, bytes(1), "a: at b"),
                      "a: at b: dimension_search is for at most 1024 workers, found 1025");
}

}  // namespace ukemi
