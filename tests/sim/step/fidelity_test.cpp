// fidelity_test.cpp — what steps play against every transfer of the schedules of live workers.
#include <catch2/catch.hpp>
#include <string>

#include "sim/cluster/fabric.hpp"
#include "sim/step/placed_collective.hpp"
#include "sim/step/step_run.hpp"
#include "tests/support/fidelity_worlds.hpp"

using namespace ukemi;
using namespace ukemi::sim;
using namespace ukemi::test;

TEST_CASE("fidelity: steps are within 0.1 % of every transfer in six families of worlds",
          "[step][property]") {
    for (std::size_t family = 0; family < fidelity_families.size(); ++family) {
        CAPTURE(std::string(fidelity_families[family]));
        for (std::uint64_t seed = 0; seed < 25; ++seed) {
            CAPTURE(seed);
            const FidelityWorld world = fidelity_world(family, seed);
            const auto schedules = ends_of_schedules(world);
            const auto automatic = ends_of_steps(world, NetworkFidelity::automatic);
            CHECK(furthest_off(world, schedules, automatic) < 0.001);
            const auto exact = ends_of_steps(world, NetworkFidelity::exact);
            for (std::size_t job = 0; job < exact.size(); ++job) {
                CHECK(std::abs(exact[job].raw() - schedules[job].raw()) <= 2);
            }
        }
    }
}

namespace {

// Seconds of one all-reduce of 16 MB on an idle network.
double alone(const NetworkRule& rule, policies::Collective collective, std::uint32_t machines) {
    const Topology topology = build_cluster("p3.2xlarge", machines);
    const std::vector<DeviceId> workers = topology.workers();
    ClusterNetwork network(topology, rule);
    const PlacedCollective placed(network, collective, workers, 1, "test");
    placed.start(network, bytes(16'000'000), {});
    const auto end = network.runs().run_until(Instant::never());
    REQUIRE(end.has_value());
    return to_seconds(end->at.since_start());
}

}  // namespace

// Ranks without a partner to fold in send to those who are still being folded into, and slow them
// down: unless these have room for what belongs to their own step only.
TEST_CASE("fidelity: with a window of one, halving-doubling takes its textbook time", "[step]") {
    const Topology topology = build_cluster("p3.2xlarge", 6);
    Routes routes(topology);
    const std::vector<DeviceId> workers = topology.workers();
    const double rate = routes.bandwidth(workers[0], workers[1]).raw();
    const double latency_s = to_seconds(routes.latency(workers[0], workers[1]));
    // Folded in and out whole, then a half and a quarter, twice.
    const double textbook_s = (2 + 2 * 0.75) * 16e6 / rate + 6 * latency_s;
    const auto collective = policies::Collective::halving_doubling;
    CHECK(alone({NetworkFidelity::exact, 1}, collective, 6) == Approx(textbook_s).epsilon(1e-6));
    CHECK(alone({NetworkFidelity::exact, 0}, collective, 6) > 1.01 * textbook_s);
}

TEST_CASE(
    "fidelity: more transfers at once than can be played make a ring fluid where it is shared",
    "[step]") {
    const Topology topology = build_cluster("p3.2xlarge", 16);
    const std::vector<DeviceId> workers = topology.workers();
    ClusterNetwork network(topology);
    constexpr std::int64_t too_many = 1 << 20;
    const PlacedCollective placed(network, policies::Collective::ring, workers, 1, "test",
                                  too_many);
    placed.start(network, bytes(16'000'000), {});
    const auto end = network.runs().run_until(Instant::never());
    REQUIRE(end.has_value());
    CHECK(end->exact);
    placed.start(network, bytes(16'000'000), end->at);
    placed.start(network, bytes(16'000'000), end->at);
    for (int i = 0; i < 2; ++i) {
        const auto shared = network.runs().run_until(Instant::never());
        REQUIRE(shared.has_value());
        CHECK_FALSE(shared->exact);
    }
}

TEST_CASE("fidelity: collectives that are far off as fluid are exact for longer", "[step]") {
    constexpr std::int64_t messages = 1 << 18;  // of 12 ranks: more than 2^23 transfers, not 2^26
    const auto is_exact = [](policies::Collective collective, std::uint32_t machines) {
        const Topology topology = build_cluster("p3.2xlarge", machines);
        ClusterNetwork network(topology);
        const PlacedCollective placed(network, collective, topology.workers(), 1, "test", messages);
        placed.start(network, bytes(16'000'000), {});
        const auto end = network.runs().run_until(Instant::never());
        REQUIRE(end.has_value());
        return end->exact;
    };
    CHECK(is_exact(policies::Collective::halving_doubling, 12));
    CHECK(is_exact(policies::Collective::binary_tree, 12));
    CHECK_FALSE(is_exact(policies::Collective::halving_doubling, 16));
    CHECK_FALSE(is_exact(policies::Collective::clique, 12));
}

TEST_CASE("fidelity: a job says how its collectives were played", "[step]") {
    const Topology topology = build_cluster("p3.2xlarge", 4);
    StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.assign(4, milliseconds(9));
    job.buckets = {{"first", bytes(4'000'000), 0.5}, {"last", bytes(6'000'000), 1.0}};
    job.launch.kind = LaunchKind::by_name;
    job.steps = 3;
    StepOptions options;
    const auto played = [&] {
        return run_steps(topology, std::span(&job, 1), {}, options).front();
    };
    const JobSteps automatic = played();
    CHECK(fidelity_of(automatic) == "exact");
    CHECK(automatic.exact == 6);
    options.network.fidelity = NetworkFidelity::fluid;
    const JobSteps fluid = played();
    CHECK(fidelity_of(fluid) == "fluid");
    CHECK(fluid.fluid == 6);
    job.buckets.clear();
    CHECK(fidelity_of(played()) == "none");
    CHECK(fidelity_of({{}, "", {}, 1, 1}) == "mixed");
    CHECK(fidelity_of({{}, "", {}, 1, 0, 5}) == "exact");
    CHECK(fidelity_of({{}, "nccl", {}, 0, 0, 5}) == "nccl");
}
