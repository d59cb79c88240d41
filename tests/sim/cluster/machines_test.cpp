// machines_test.cpp — the tables of machines, and the networks that join them.
#include <catch2/catch.hpp>
#include <set>

#include "base/input_error.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/machine_spec.hpp"
#include "sim/cluster/routes.hpp"

namespace ukemi {
namespace {

std::size_t links_of(const sim::Topology& topology, sim::LinkKind kind) {
    std::size_t count = 0;
    for (const sim::Link& link : topology.links()) count += link.kind == kind ? 1 : 0;
    return count;
}

}  // namespace

TEST_CASE("machines: every preset builds, is connected, and says where its numbers are from",
          "[machines]") {
    std::set<std::string_view> names;
    for (const sim::MachineSpec& spec : sim::all_machines()) {
        CAPTURE(spec.name);
        CHECK(names.insert(spec.name).second);
        CHECK_FALSE(spec.source.empty());
        const sim::Topology topology = sim::build_cluster(spec.name, 2);
        CHECK_NOTHROW(sim::check_connected(topology));
        CHECK(topology.devices_of(sim::DeviceKind::gpu).size() == 2 * spec.gpus);
        CHECK(topology.devices_of(sim::DeviceKind::nic).size() == 2 * spec.nics.count);
        CHECK(topology.machine(sim::MachineId{1}).preset == spec.name);
    }
    CHECK(names.size() >= 35);
}

TEST_CASE("machines: a DGX-1 has six NVLinks a GPU, symmetric", "[machines]") {
    for (std::uint32_t i = 0; i < 8; ++i) {
        std::uint32_t lanes = 0;
        for (std::uint32_t j = 0; j < 8; ++j) {
            lanes += sim::hybrid_cube_lanes(i, j);
            CHECK(sim::hybrid_cube_lanes(i, j) == sim::hybrid_cube_lanes(j, i));
        }
        CHECK(lanes == 6);
    }
    const sim::Topology topology = sim::build_cluster("dgx1_v100", 1);
    CHECK(links_of(topology, sim::LinkKind::nvlink) == 2 * 16);  // 16 pairs
    const auto gpus = topology.workers();
    CHECK(topology.lanes_between(gpus[0], gpus[3], sim::LinkKind::nvlink) == 2);
    CHECK(topology.lanes_between(gpus[0], gpus[5], sim::LinkKind::nvlink) == 0);
}

TEST_CASE("machines: NVSwitch gives a GPU all its lanes to any other", "[machines]") {
    const auto [name, rate] = GENERATE(table<std::string, double>(
        {{"dgx_a100", 300e9}, {"dgx_h100", 450e9}, {"p5.48xlarge", 450e9}}));
    const sim::Topology topology = sim::build_cluster(name, 1);
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    CHECK(routes.bandwidth(gpus[1], gpus[6]).raw() == rate);
    CHECK(routes.latency(gpus[1], gpus[6]) == nanoseconds(600));
}

TEST_CASE("machines: an S822LC reaches its sockets by NVLink", "[machines]") {
    const sim::Topology topology = sim::build_cluster("ibm_s822lc", 1);
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    const auto sockets = topology.devices_of(sim::DeviceKind::cpu);
    CHECK(topology.lanes_between(gpus[0], sockets[0], sim::LinkKind::nvlink) == 2);
    CHECK(topology.lanes_between(gpus[3], sockets[1], sim::LinkKind::nvlink) == 2);
    CHECK(topology.lanes_between(gpus[0], gpus[1], sim::LinkKind::nvlink) == 2);
    CHECK(topology.lanes_between(gpus[1], gpus[2], sim::LinkKind::nvlink) == 0);
    CHECK(routes.bandwidth(gpus[0], gpus[1]).raw() == 40e9);
    CHECK(routes.bandwidth(gpus[0], gpus[2]).raw() == 38.4e9);  // the X bus
}

TEST_CASE("machines: an unknown name is answered with the nearest", "[machines]") {
    CHECK_THROWS_WITH(sim::machine_named("p3.16xlarg", "--machine"),
                      Catch::Contains("no machine \"p3.16xlarg\" (did you mean \"p3.16xlarge\"?)"));
    CHECK_THROWS_AS(sim::build_cluster("nothing", 1), InputError);
    CHECK_THROWS_AS(sim::build_cluster("p3.2xlarge", 0), InputError);
    CHECK_THROWS_WITH(sim::gpu_named("v100_sxm2", "x"), Catch::Contains("there is no GPU"));
}

TEST_CASE("GPUs: memory is what their drivers report as the total", "[machines]") {
    const std::pair<std::string_view, Bytes> reported[] = {{"p100_sxm2", mebibytes(16384)},
                                                           {"v100_sxm2_32gb", mebibytes(32768)},
                                                           {"t4", mebibytes(15360)},
                                                           {"a10", mebibytes(23028)},
                                                           {"a40", mebibytes(46068)},
                                                           {"rtx_a6000", mebibytes(49140)},
                                                           {"rtx4090", mebibytes(24564)},
                                                           {"l4", mebibytes(23034)},
                                                           {"l40s", mebibytes(46068)},
                                                           {"a100_sxm4_40gb", mebibytes(40960)},
                                                           {"a100_sxm4_80gb", mebibytes(81920)},
                                                           {"h100_sxm5_80gb", mebibytes(81559)},
                                                           {"h200_sxm_141gb", mebibytes(143771)},
                                                           {"b200_sxm_180gb", mebibytes(183359)},
                                                           {"gb200_186gb", mebibytes(189471)},
                                                           {"mi300x", bytes(206'141'652'992)}};
    for (const auto& [name, memory] : reported) CHECK(sim::gpu_named(name, "t").memory == memory);
    // No driver that reports its own part in the total knows it: what ECC leaves of 12 GiB.
    CHECK(sim::gpu_named("k80", "t").memory == mebibytes(12 * 1024 * 15 / 16));
}

TEST_CASE("fabric: 60 machines at 1 Gbit/s hang on one switch", "[fabric]") {
    const sim::Topology topology = sim::build_cluster("cpu_16_core", 60);
    sim::Routes routes(topology);
    const auto workers = topology.workers();
    REQUIRE(workers.size() == 60);
    CHECK(links_of(topology, sim::LinkKind::network) == 120);
    CHECK(routes.bandwidth(workers[0], workers[59]).raw() == 125e6);
}

TEST_CASE("fabric: oversubscription divides what leaves a leaf", "[fabric]") {
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::leaf_spine;
    fabric.machines_per_leaf = 8;
    fabric.spines = 2;
    fabric.oversubscription = 4;
    const sim::Topology topology = sim::build_cluster("p3.16xlarge", 16, fabric);
    double up = 0;
    double down = 0;
    for (const sim::Link& link : topology.links()) {
        const std::string& to = topology.device(link.to).name;
        if (topology.device(link.from).name == "leaf0" && to.starts_with("spine"))
            up += link.bandwidth.raw();
        if (to == "leaf0" && topology.device(link.from).kind == sim::DeviceKind::nic)
            down += link.bandwidth.raw();
    }
    CHECK(down == 8 * 25e9 / 8);
    CHECK(up == down / 4);
    CHECK(topology.machine(sim::MachineId{7}).rack == 0);
    CHECK(topology.machine(sim::MachineId{8}).rack == 1);
    fabric.oversubscription = 0.5;
    CHECK_THROWS_AS(sim::build_cluster("p3.16xlarge", 16, fabric), InputError);
}

TEST_CASE("fabric: a fat tree of 16 machines has the switches of k = 4", "[fabric]") {
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::fat_tree;
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 16, fabric);
    // Al-Fares et al.: k²/4 cores, k/2 aggregation and k/2 edge switches in each of k pods.
    CHECK(topology.devices_of(sim::DeviceKind::network_switch).size() == 4 + 4 * 4);
    // 16 hosts, 16 edge-aggregation and 16 aggregation-core cables.
    CHECK(links_of(topology, sim::LinkKind::network) == 2 * 48);
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    std::set<sim::LinkId> third;
    for (std::uint64_t flow = 0; flow < 64; ++flow)
        third.insert(routes.route(gpus[0], gpus[15], flow)[4]);
    CHECK(third.size() == 4);  // up to four cores
}

TEST_CASE("fabric: hops on rings and tori are the shortest way round", "[fabric]") {
    sim::FabricSpec ring;
    ring.kind = sim::FabricKind::ring;
    const sim::Topology eight = sim::build_cluster("p3.2xlarge", 8, ring);
    sim::Routes around(eight);
    const auto gpus = eight.workers();
    const auto routers = [&](sim::Routes& routes, const sim::Topology& topology, sim::DeviceId from,
                             sim::DeviceId to) {
        std::size_t count = 0;
        for (const sim::LinkId id : routes.route(from, to)) {
            count += topology.device(topology.link(id).to).kind == sim::DeviceKind::network_switch;
        }
        return count - 1;  // links between routers
    };
    CHECK(routers(around, eight, gpus[0], gpus[4]) == 4);
    CHECK(routers(around, eight, gpus[0], gpus[7]) == 1);
    sim::FabricSpec torus;
    torus.kind = sim::FabricKind::torus;
    torus.sides = {4, 4, 2};
    const sim::Topology cube = sim::build_cluster("p3.2xlarge", 32, torus);
    sim::Routes through(cube);
    const auto many = cube.workers();
    CHECK(routers(through, cube, many[0], many[31]) == 1 + 1 + 1);
    CHECK(routers(through, cube, many[0], many[10]) == 2 + 2);
    torus.sides = {4, 4, 4};
    CHECK_THROWS_WITH(sim::build_cluster("p3.2xlarge", 32, torus),
                      Catch::Contains("has 64 places"));
}

TEST_CASE("fabric: same-rail GPUs of a pod meet at one switch", "[fabric]") {
    sim::FabricSpec rails;
    rails.kind = sim::FabricKind::rails;
    rails.machines_per_leaf = 4;
    rails.spines = 8;
    const sim::Topology topology = sim::build_cluster("dgx_a100", 8, rails);
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    const auto network_links = [&](sim::DeviceId from, sim::DeviceId to) {
        std::size_t count = 0;
        for (const sim::LinkId id : routes.route(from, to))
            count += topology.link(id).kind == sim::LinkKind::network;
        return count;
    };
    CHECK(network_links(gpus[0], gpus[8]) == 2);
    CHECK(network_links(gpus[0], gpus[32]) == 4);  // the other leaf group
}

TEST_CASE("fabric: zones meet through their routers", "[fabric]") {
    sim::ClusterSpec spec;
    spec.zones = {{"p3.2xlarge", 2, {}}, {"g4dn.xlarge", 1, {}}};
    spec.zone_bandwidth = gigabits_per_second(5);
    spec.zone_latency = milliseconds(2);
    const sim::Topology topology = sim::build_cluster(spec);
    CHECK_NOTHROW(sim::check_connected(topology));
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    REQUIRE(gpus.size() == 3);
    CHECK(index_of(topology.machine(topology.device(gpus[2]).machine).zone) == 1);
    CHECK(routes.bandwidth(gpus[0], gpus[2]).raw() == 5e9 / 8);
    CHECK(routes.latency(gpus[0], gpus[2]) > milliseconds(2));
    CHECK(routes.bandwidth(gpus[0], gpus[1]).raw() == 10e9 / 8);
}

}  // namespace ukemi
