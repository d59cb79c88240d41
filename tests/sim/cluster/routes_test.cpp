// routes_test.cpp — the way that is taken beside a search over every link (Bellman and Ford).
#include <catch2/catch.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ids.hpp"
#include "base/input_error.hpp"
#include "base/quantity.hpp"
#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/routes.hpp"

namespace ukemi {
namespace {

using Weight = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // hops, ns, links

constexpr std::int64_t far = INT32_MAX;

Weight longer(const Weight& way, const sim::Link& link) {
    return {std::get<0>(way) + (link.kind == sim::LinkKind::network ? 1 : 0),
            std::get<1>(way) + link.latency.raw(), std::get<2>(way) + 1};
}

// The least weight from every device to one; a GPU is crossed by none.
std::vector<Weight> weights_to(const sim::Topology& topology, sim::DeviceId to) {
    std::vector<Weight> least(topology.devices().size(), Weight{far, far, far});
    least[index_of(to)] = {};
    for (bool changed = true; changed;) {
        changed = false;
        for (const sim::Link& link : topology.links()) {
            const bool ends = link.to == to;
            if (!ends && topology.device(link.to).kind == sim::DeviceKind::gpu) continue;
            if (std::get<0>(least[index_of(link.to)]) == far) continue;
            const Weight way = longer(least[index_of(link.to)], link);
            if (way >= least[index_of(link.from)]) continue;
            least[index_of(link.from)] = way;
            changed = true;
        }
    }
    return least;
}

// What is wrong with the ways from every device to this one.
std::size_t wrong_ways(const sim::Topology& topology, sim::Routes& routes, sim::DeviceId to) {
    const std::vector<Weight> least = weights_to(topology, to);
    std::size_t wrong = 0;
    for (std::uint32_t i = 0; i < topology.devices().size(); ++i) {
        const auto from = static_cast<sim::DeviceId>(i);
        const bool reachable = std::get<0>(least[i]) != far;
        if (routes.connected(from, to) != reachable) ++wrong;
        if (!reachable) {
            CHECK_THROWS_AS(routes.route(from, to), InputError);
            continue;
        }
        Weight way{};
        sim::DeviceId at = from;
        for (const sim::LinkId id : routes.route(from, to, i)) {
            const sim::Link& link = topology.link(id);
            if (link.from != at) ++wrong;
            if (at != from && topology.device(at).kind == sim::DeviceKind::gpu) ++wrong;
            way = longer(way, link);
            at = link.to;
        }
        if (at != to || way != least[i]) ++wrong;
    }
    return wrong;
}

sim::ClusterSpec spec_of(sim::FabricKind kind, std::string_view machine, std::uint64_t seed) {
    sim::FabricSpec fabric;
    fabric.kind = kind;
    fabric.machines_per_leaf = 1 + static_cast<std::uint32_t>(seed % 3);
    fabric.spines = 2;
    fabric.sides = {2, 2, 1};
    sim::ClusterSpec spec;
    spec.zones.push_back({std::string(machine), 4, fabric});
    if (seed % 2 == 1) spec.zones.push_back({"p3.2xlarge", 3, {}});
    return spec;
}

}  // namespace

// Which of several ways is taken depends on its ends, and not on who else is there.
TEST_CASE("routes: machines beside them change no ways", "[routes]") {
    const auto ways = [](std::uint32_t machines, const char* machine) {
        sim::FabricSpec fabric;
        fabric.kind = sim::FabricKind::leaf_spine;
        fabric.machines_per_leaf = 2;
        fabric.spines = 4;
        sim::ClusterSpec spec;
        spec.zones.push_back({machine, machines, fabric});
        const sim::Topology topology = sim::build_cluster(spec);
        sim::Routes routes(topology);
        std::string all;
        for (const sim::DeviceKind kind : {sim::DeviceKind::gpu, sim::DeviceKind::cpu}) {
            for (const sim::DeviceId from : topology.devices_of(kind, sim::MachineId{0})) {
                for (const sim::DeviceId to : topology.devices_of(kind, sim::MachineId{3})) {
                    for (const sim::LinkId link : routes.route(from, to)) {
                        all += topology.full_name(topology.link(link).to) + " ";
                    }
                }
            }
        }
        return all;
    };
    for (const char* machine : {"dgx_a100", "p3.8xlarge"}) {
        CHECK(ways(4, machine) == ways(9, machine));
    }
}

// Rails join NICs of one number: a message may cross to the receiver's number inside either
// machine. Where some crossed here and some there, two of a permutation would share a NIC.
TEST_CASE("routes: on rails no two messages of a permutation share a link outside", "[routes]") {
    const std::string name = GENERATE("mi300x_8", "dgx_h100", "dgx_a100", "a3-megagpu-8g");
    sim::FabricSpec fabric;
    fabric.kind = sim::FabricKind::rails;
    sim::ClusterSpec spec;
    spec.zones.push_back({name, 2, fabric});
    const sim::Topology topology = sim::build_cluster(spec);
    sim::Routes routes(topology);
    const auto here = topology.devices_of(sim::DeviceKind::gpu, sim::MachineId{0});
    const auto there = topology.devices_of(sim::DeviceKind::gpu, sim::MachineId{1});
    for (std::size_t shift = 0; shift < here.size(); ++shift) {
        CAPTURE(name, shift);
        std::set<sim::LinkId> taken;
        for (std::size_t i = 0; i < here.size(); ++i) {
            for (const sim::LinkId link :
                 routes.route(here[i], there[(i + shift) % there.size()])) {
                if (topology.link(link).kind != sim::LinkKind::network) continue;
                CHECK(taken.insert(link).second);
            }
        }
        CHECK(taken.size() == 2 * here.size());
    }
}

TEST_CASE("routes: no way is cheaper than the one that is taken", "[routes][property]") {
    const auto kind = GENERATE(sim::FabricKind::single_switch, sim::FabricKind::leaf_spine,
                               sim::FabricKind::fat_tree, sim::FabricKind::ring,
                               sim::FabricKind::torus, sim::FabricKind::rails);
    const std::string machine = GENERATE("p3.2xlarge", "dgx1_v100", "ibm_s822lc", "p4d.24xlarge");
    const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 4)));
    CAPTURE(sim::fabric_names[static_cast<std::size_t>(kind)], machine, seed);
    sim::Topology topology = sim::build_cluster(spec_of(kind, machine, seed));
    const auto count = static_cast<std::int64_t>(topology.devices().size());
    RandomStream random(seed, "cables");
    // Cables that no preset has: from machine to machine, past the switches, and to nothing else.
    for (std::uint64_t i = 0; i < 3 * seed; ++i) {
        const auto a = static_cast<sim::DeviceId>(random.integer(0, count - 1));
        const auto b = static_cast<sim::DeviceId>(random.integer(0, count - 1));
        if (a == b) continue;
        const auto link = i % 2 == 0 ? sim::LinkKind::network : sim::LinkKind::nvlink;
        topology.connect(a, b, link, 1, gigabits_per_second(10),
                         nanoseconds(random.integer(0, 3000)));
    }
    if (seed == 3) topology.add_device(sim::DeviceKind::nic, sim::MachineId{}, "unplugged");
    sim::Routes routes(topology);
    std::size_t wrong = 0;
    for (std::int64_t to = 0; to < count; to += 1 + count / 24) {
        wrong += wrong_ways(topology, routes, static_cast<sim::DeviceId>(to));
    }
    if (seed == 3) {
        const auto alone = static_cast<sim::DeviceId>(count);
        wrong += wrong_ways(topology, routes, alone);
    }
    CHECK(wrong == 0);
}

}  // namespace ukemi
