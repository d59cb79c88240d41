// topology_test.cpp — devices, links, and the way between them.
#include "sim/cluster/topology.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>

#include "base/input_error.hpp"
#include "sim/cluster/cluster_file.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/routes.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

constexpr BytesPerSecond gigabyte = BytesPerSecond::of(1e9);

struct Pair {
    sim::Topology topology;
    sim::DeviceId a;
    sim::DeviceId b;
};
Pair two_gpus() {
    Pair pair;
    const sim::MachineId machine = pair.topology.add_machine({"box", {}, 0, {}});
    pair.a = pair.topology.add_device(sim::DeviceKind::gpu, machine, "gpu0");
    pair.b = pair.topology.add_device(sim::DeviceKind::gpu, machine, "gpu1");
    return pair;
}

std::vector<sim::LinkId> copied(std::span<const sim::LinkId> links) {
    return {links.begin(), links.end()};
}

// Every link begins where the one before ended.
bool leads(const sim::Topology& topology, std::span<const sim::LinkId> path, sim::DeviceId from,
           sim::DeviceId to) {
    for (const sim::LinkId id : path) {
        if (topology.link(id).from != from) return false;
        from = topology.link(id).to;
    }
    return from == to;
}

// Groups of one GPU in each of two machines, of the same number: their NICs send and receive alike.
void expect_even_use_of_nics(const sim::Topology& topology) {
    sim::Routes routes(topology);
    const auto workers = topology.workers();
    const std::size_t gpus = workers.size() / 2;
    const std::size_t nics =
        topology.devices_of(sim::DeviceKind::nic, topology.device(workers[0]).machine).size();
    std::map<sim::DeviceId, std::size_t> carries;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        for (const sim::LinkId id : routes.route(workers[gpu], workers[gpus + gpu])) {
            const sim::Link& link = topology.link(id);
            if (link.kind != sim::LinkKind::network) continue;
            for (const sim::DeviceId end : {link.from, link.to}) {
                if (topology.device(end).kind == sim::DeviceKind::nic) ++carries[end];
            }
        }
    }
    CHECK(carries.size() == 2 * nics);
    for (const auto& [nic, flows] : carries) CHECK(flows == gpus / nics);
}

}  // namespace

TEST_CASE("topology: machines of a kind are copies of the first", "[topology]") {
    sim::FabricSpec racks;
    racks.kind = sim::FabricKind::rails;
    racks.machines_per_leaf = 2;
    const sim::Topology three = sim::build_cluster("dgx_h100", 3, racks);
    const sim::Topology one = sim::build_cluster("dgx_h100", 1);
    const auto count = static_cast<std::uint32_t>(one.devices_of(sim::DeviceKind::gpu).size() +
                                                  one.devices_of(sim::DeviceKind::cpu).size());
    CHECK(count == 10);
    REQUIRE(three.machines().size() == 3);
    CHECK(three.machines()[2].name == "machine2");
    CHECK(three.machines()[2].rack == 1);
    CHECK(three.machines()[2].gpu == one.machines()[0].gpu);
    CHECK(three.workers().size() == 24);
    for (const std::uint32_t number : {0U, 1U, 2U}) {
        const auto machine = static_cast<sim::MachineId>(number);
        const auto gpus = three.devices_of(sim::DeviceKind::gpu, machine);
        const auto planes = three.devices_of(sim::DeviceKind::nvswitch, machine);
        REQUIRE(gpus.size() == 8);
        REQUIRE(planes.size() == 1);
        CHECK(three.device(gpus[7]).index == 7);
        CHECK(three.full_name(gpus[7]) == fmt::format("machine{}/gpu7", number));
        CHECK(three.lanes_between(gpus[7], planes[0], sim::LinkKind::nvlink) == 18);
    }
    // What leaves a device, of all links.
    for (std::uint32_t i = 0; i < three.devices().size(); ++i) {
        std::vector<sim::LinkId> expected;
        for (std::uint32_t link = 0; link < three.links().size(); ++link) {
            if (three.links()[link].from == static_cast<sim::DeviceId>(i)) {
                expected.push_back(static_cast<sim::LinkId>(link));
            }
        }
        CHECK(std::ranges::equal(three.links_from(static_cast<sim::DeviceId>(i)), expected));
    }
}

TEST_CASE("topology: a cable is two links, each with its own number", "[topology]") {
    Pair pair = two_gpus();
    const sim::LinkId there = pair.topology.connect(pair.a, pair.b, sim::LinkKind::nvlink, 2,
                                                    BytesPerSecond::of(50e9), nanoseconds(600));
    REQUIRE(pair.topology.links().size() == 2);
    CHECK(index_of(there) == 0);
    CHECK(pair.topology.link(there).from == pair.a);
    CHECK(pair.topology.link(sim::LinkId{1}).from == pair.b);
    CHECK(pair.topology.lanes_between(pair.b, pair.a, sim::LinkKind::nvlink) == 2);
    CHECK(pair.topology.lanes_between(pair.b, pair.a, sim::LinkKind::pcie) == 0);
    const auto rates = pair.topology.link_rates();
    REQUIRE(rates.size() == 2);
    CHECK(rates[1].bandwidth.raw() == 50e9);
    CHECK(rates[1].latency == nanoseconds(600));
}

TEST_CASE("topology: a link without bandwidth is refused by name", "[topology]") {
    Pair pair = two_gpus();
    const double bandwidth = GENERATE(0.0, -1.0, std::numeric_limits<double>::infinity());
    CHECK_THROWS_WITH(pair.topology.connect(pair.a, pair.b, sim::LinkKind::pcie, 1,
                                            BytesPerSecond::of(bandwidth), Duration{}),
                      Catch::Contains("pcie link between box/gpu0 and box/gpu1") &&
                          Catch::Contains("expected a bandwidth above 0"));
    CHECK_THROWS_AS(
        pair.topology.connect(pair.a, pair.b, sim::LinkKind::pcie, 1, gigabyte, whole_seconds(2)),
        InputError);
}

TEST_CASE("topology: derating touches one kind of link only", "[topology]") {
    sim::Topology topology = sim::build_cluster("dgx1_v100", 1);
    topology.derate(sim::LinkKind::nvlink, 0.5);
    for (const sim::Link& link : topology.links()) {
        if (link.kind == sim::LinkKind::nvlink) CHECK(link.bandwidth.raw() == 12.5e9 * link.lanes);
        if (link.kind == sim::LinkKind::pcie) CHECK(link.bandwidth.raw() > 15.7e9);
    }
}

TEST_CASE("routes: a GPU is no thoroughfare", "[routes]") {
    Pair pair = two_gpus();
    const sim::DeviceId c =
        pair.topology.add_device(sim::DeviceKind::gpu, sim::MachineId{}, "gpu2");
    pair.topology.connect(pair.a, pair.b, sim::LinkKind::nvlink, 1, gigabyte, Duration{});
    pair.topology.connect(pair.b, c, sim::LinkKind::nvlink, 1, gigabyte, Duration{});
    sim::Routes routes(pair.topology);
    CHECK(routes.route(pair.a, pair.b).size() == 1);
    CHECK_FALSE(routes.connected(pair.a, c));
    CHECK_THROWS_WITH(routes.route(pair.a, c),
                      Catch::Contains("no path from box/gpu0 to box/gpu2"));
    CHECK_THROWS_WITH(sim::check_connected(pair.topology), Catch::Contains("no path from"));
    const sim::DeviceId cpu =
        pair.topology.add_device(sim::DeviceKind::cpu, sim::MachineId{}, "cpu0");
    for (const sim::DeviceId gpu : {pair.a, pair.b, c}) {
        pair.topology.connect(gpu, cpu, sim::LinkKind::pcie, 1, gigabyte, Duration{});
    }
    CHECK_NOTHROW(sim::check_connected(pair.topology));
    CHECK(sim::Routes(pair.topology).route(pair.a, c).size() == 2);
}

TEST_CASE("routes: NVLink before PCIe, PCIe before the network", "[routes]") {
    const sim::Topology topology = sim::build_cluster("dgx1_v100", 2);
    sim::Routes routes(topology);
    const auto gpus = topology.workers();
    REQUIRE(gpus.size() == 16);
    const auto kinds = [&](std::size_t from, std::size_t to) {
        std::vector<sim::LinkKind> found;
        for (const sim::LinkId id : routes.route(gpus[from], gpus[to]))
            found.push_back(topology.link(id).kind);
        return found;
    };
    CHECK(kinds(0, 0).empty());
    CHECK(kinds(0, 3) == std::vector{sim::LinkKind::nvlink});
    // 0 and 5 share no NVLink: GPU, switch, socket, socket, switch, GPU.
    using enum sim::LinkKind;
    CHECK(kinds(0, 5) == std::vector{pcie, pcie, socket, pcie, pcie});
    CHECK(kinds(0, 8) == std::vector{pcie, pcie, network, network, pcie, pcie});
    // NCCL's hops: NVLINK 0.6 us, NET 2.7 us (src/graph/tuning.cc, ring, LL).
    CHECK(routes.latency(gpus[0], gpus[3]) == nanoseconds(600));
    CHECK(routes.latency(gpus[0], gpus[8]) == nanoseconds(2700));
    CHECK(routes.bandwidth(gpus[0], gpus[3]).raw() == 50e9);
    CHECK(routes.bandwidth(gpus[0], gpus[8]).raw() == 12.5e9);
}

TEST_CASE("routes: flows spread over equal paths, and each keeps to its own", "[routes]") {
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::leaf_spine;
    fabric.machines_per_leaf = 2;
    fabric.spines = 4;
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4, fabric);
    const auto gpus = topology.workers();
    sim::Routes routes(topology);
    sim::Routes again(topology);
    std::set<std::vector<sim::LinkId>> seen;
    for (std::uint64_t flow = 0; flow < 64; ++flow) {
        const auto path = routes.route(gpus[0], gpus[3], flow);
        CHECK(leads(topology, path, gpus[0], gpus[3]));
        CHECK(path.size() == 8);
        seen.insert(copied(path));
    }
    CHECK(seen.size() == 4);  // one a spine
    for (std::uint64_t flow = 64; flow-- > 0;) {
        CHECK(copied(again.route(gpus[0], gpus[3], flow)) ==
              copied(routes.route(gpus[0], gpus[3], flow)));
    }
}

TEST_CASE("routes: GPUs that are equally near to several NICs have them in turn", "[routes]") {
    const auto kind = GENERATE(sim::FabricKind::single_switch, sim::FabricKind::leaf_spine,
                               sim::FabricKind::rails);
    const std::string machine = GENERATE("dgx_a100", "dgx_h100", "p4d.24xlarge", "p5.48xlarge",
                                         "hgx_a100_4", "polaris", "gb200_nvl72");
    const std::uint32_t machines_per_leaf = GENERATE(2, 1);
    CAPTURE(sim::fabric_names[static_cast<std::size_t>(kind)], machine, machines_per_leaf);
    sim::FabricSpec fabric;
    fabric.kind = kind;
    fabric.machines_per_leaf = machines_per_leaf;
    fabric.spines = 2;
    const sim::Topology topology = sim::build_cluster(machine, 2, fabric);
    expect_even_use_of_nics(topology);
}

TEST_CASE("routes: GPUs have NICs anywhere in a machine in turn", "[routes]") {
    // As `nvidia-smi topo -m` says it: each device has a switch of its own below the socket (NODE)
    // or the root (PHB), or all NICs are on a socket of their own.
    const auto [relation, nics] = GENERATE(
        table<std::string, std::size_t>({{"PHB", 2}, {"NODE", 4}, {"SYS", 2}, {"PHB", 4}}));
    CAPTURE(relation, nics);
    constexpr std::size_t gpus = 4;
    std::string text;
    for (std::size_t i = 0; i < gpus; ++i) text += fmt::format("GPU{}\t", i);
    for (std::size_t i = 0; i < nics; ++i) text += fmt::format("NIC{}\t", i);
    text += "\n";
    for (std::size_t i = 0; i < gpus + nics; ++i) {
        text += i < gpus ? fmt::format("GPU{}", i) : fmt::format("NIC{}", i - gpus);
        for (std::size_t j = 0; j < gpus + nics; ++j) {
            const bool both = (i < gpus) == (j < gpus);
            text += i == j ? "\tX" : both ? "\tPHB" : "\t" + relation;
        }
        text += "\n";
    }
    const ScratchFolder folder;
    std::ofstream(folder / "node.txt") << text;
    std::ofstream(folder / "cluster.json")
        << R"({"machine": "node.txt", "gpu": "v100_sxm2_32gb", "count": 2,
               "links": {"bandwidth": "100 Gbit/s"}})";
    expect_even_use_of_nics(sim::topology_of((folder / "cluster.json").string()));
}

TEST_CASE("routes: the order of questions changes no answer", "[routes][property]") {
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::rails;
    fabric.machines_per_leaf = 2;
    fabric.spines = 4;
    const sim::Topology topology = sim::build_cluster("p4d.24xlarge", 6, fabric);
    const auto gpus = topology.workers();
    sim::Routes forwards(topology);
    sim::Routes backwards(topology);
    const std::size_t pairs = gpus.size() * gpus.size();
    for (std::size_t pair = pairs; pair-- > 0;) {  // far ones first
        backwards.route(gpus[pair % gpus.size()], gpus[pair / gpus.size()], pair);
    }
    std::size_t different = 0;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        const sim::DeviceId from = gpus[pair % gpus.size()];
        const sim::DeviceId to = gpus[pair / gpus.size()];
        if (copied(forwards.route(from, to, pair)) != copied(backwards.route(from, to, pair))) {
            ++different;
        }
    }
    CHECK(different == 0);
}

TEST_CASE("routes: every worker reaches every other, and paths are consistent", "[routes]") {
    const auto kind = GENERATE(sim::FabricKind::single_switch, sim::FabricKind::leaf_spine,
                               sim::FabricKind::fat_tree, sim::FabricKind::ring,
                               sim::FabricKind::torus, sim::FabricKind::rails);
    const std::string machine = GENERATE("dgx_a100", "p3.8xlarge", "ibm_s822lc", "cpu_16_core");
    CAPTURE(sim::fabric_names[static_cast<std::size_t>(kind)], machine);
    sim::FabricSpec fabric;
    fabric.kind = kind;
    fabric.machines_per_leaf = 2;
    fabric.spines = 2;
    fabric.sides = {3, 2, 1};
    const sim::Topology topology = sim::build_cluster(machine, 6, fabric);
    CHECK_NOTHROW(sim::check_connected(topology));
    sim::Routes routes(topology);
    const auto workers = topology.workers();
    std::size_t wrong = 0;
    for (const sim::DeviceId from : workers) {
        for (const sim::DeviceId to : workers) {
            const auto path = routes.route(from, to, 7);
            if (!leads(topology, path, from, to)) ++wrong;
            const bool inside = topology.device(from).machine == topology.device(to).machine;
            for (const sim::LinkId id : path) {
                if (inside && topology.link(id).kind == sim::LinkKind::network) ++wrong;
            }
        }
    }
    CHECK(wrong == 0);
}

}  // namespace ukemi
