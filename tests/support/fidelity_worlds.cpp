// fidelity_worlds.cpp — what is drawn, and how it is played.
#include "tests/support/fidelity_worlds.hpp"

#include <algorithm>
#include <cmath>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::test {
namespace {

using policies::Collective;

// Racks of machines, whose uplinks carry the whole, a half or a quarter of what is below them.
sim::Topology racks(RandomStream& random, const char* machine, std::int64_t machines) {
    sim::ClusterSpec spec;
    sim::ZoneSpec zone;
    zone.machine = machine;
    zone.count = static_cast<std::uint32_t>(machines);
    zone.fabric.kind = sim::FabricKind::leaf_spine;
    zone.fabric.machines_per_leaf = static_cast<std::uint32_t>(random.integer(2, 8));
    zone.fabric.oversubscription = static_cast<double>(1 << random.integer(0, 2));
    spec.zones.push_back(zone);
    return sim::build_cluster(spec);
}

std::vector<sim::DeviceId> shuffled(RandomStream& random, std::vector<sim::DeviceId> workers) {
    for (std::size_t left = workers.size(); left > 1; --left) {
        std::swap(workers[left - 1], workers[static_cast<std::size_t>(
                                         random.integer(0, static_cast<std::int64_t>(left) - 1))]);
    }
    return workers;
}

// A buffer of about so many bytes that is cut into equal parts.
Bytes whole_parts(RandomStream& random, std::size_t ranks, std::int64_t most) {
    const auto parts = static_cast<std::int64_t>(ranks);
    const double size = static_cast<double>(most) * std::pow(0.1, 2 * random.uniform());
    return bytes(parts * std::max<std::int64_t>(1, static_cast<std::int64_t>(size) / parts));
}

void add_job(FidelityWorld& world, RandomStream& random, Collective collective,
             std::vector<sim::DeviceId> workers, std::int64_t most, bool at_any_time) {
    const std::int32_t per_host = sim::workers_per_machine(world.topology, workers);
    const Bytes size = whole_parts(random, workers.size(), most);
    const Instant at =
        at_any_time ? Instant::at(nanoseconds(random.integer(0, 20'000'000))) : Instant{};
    world.jobs.push_back({collective, std::move(workers), per_host, size, at});
}

void add_changes(FidelityWorld& world, RandomStream& random) {
    const auto links = world.topology.links();
    for (int change = 0; change < 10; ++change) {
        const auto link = static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(links.size()) - 1));
        world.changes.push_back(
            {Instant::at(nanoseconds(random.integer(0, 150'000'000))),
             static_cast<sim::LinkId>(link),
             BytesPerSecond::of(links[link].bandwidth.raw() * (0.2 + 0.8 * random.uniform()))});
    }
}

constexpr std::int64_t large = 100'000'000;  // bytes at most, and a hundredth of it at least
constexpr std::int64_t small = 400'000;

void add_rings(FidelityWorld& world, RandomStream& random, std::int64_t count, std::int64_t most) {
    const std::vector<sim::DeviceId> all = world.topology.workers();
    for (std::int64_t i = 0; i < count; ++i) {
        std::vector<sim::DeviceId> workers = random.chance(0.5) ? shuffled(random, all) : all;
        if (random.chance(0.5)) {
            workers.resize(static_cast<std::size_t>(
                random.integer(2, static_cast<std::int64_t>(workers.size()))));
        }
        add_job(world, random, Collective::ring, std::move(workers), most, count > 1);
    }
}

// One all-reduce over all workers, of which there are not 2^k if that is asked.
void add_whole(FidelityWorld& world, RandomStream& random, Collective collective,
               std::int64_t most) {
    add_job(world, random, collective, world.topology.workers(), most, false);
}

template <std::size_t N>
Collective one_of(RandomStream& random, const std::array<Collective, N>& all) {
    return all[static_cast<std::size_t>(random.integer(0, std::int64_t{N} - 1))];
}

}  // namespace

FidelityWorld fidelity_world(std::size_t family, std::uint64_t seed) {
    RandomStream random(seed, "test/fidelity/" + std::string(fidelity_families.at(family)));
    constexpr const char* one_gpu = "p3.2xlarge";
    constexpr const char* eight_gpus = "p2.8xlarge";  // on PCIe
    FidelityWorld world;
    switch (family) {
        case 0:
            world.topology = racks(random, one_gpu, random.integer(4, 64));
            add_rings(world, random, 1, large);
            add_changes(world, random);
            break;
        case 1:
            world.topology = racks(random, one_gpu, random.integer(4, 48));
            add_rings(world, random, random.integer(2, 3), large);
            add_changes(world, random);
            break;
        case 2:
            world.topology = racks(random, eight_gpus, random.integer(1, 6));
            add_rings(world, random, random.integer(1, 2), large);
            add_whole(
                world, random,
                one_of(random, std::array{Collective::hierarchical, Collective::halving_doubling}),
                large);
            break;
        case 3:
            world.topology = racks(random, one_gpu, random.integer(4, 32));
            add_rings(world, random, random.integer(1, 3), small);
            add_whole(world, random,
                      one_of(random, std::array{Collective::halving_doubling, Collective::clique,
                                                Collective::star}),
                      small);
            break;
        case 4:
            world.topology = racks(random, one_gpu, random.integer(4, 64));
            add_whole(world, random, Collective::halving_doubling, large);
            break;
        case 5:
            world.topology = racks(random, eight_gpus, random.integer(1, 8));
            add_whole(
                world, random,
                one_of(random, std::array{Collective::binary_tree, Collective::binary_tree_star,
                                          Collective::multi_binary_tree_star}),
                large);
            break;
        default: INVARIANT(false);
    }
    return world;
}

namespace {

template <class Start>
std::vector<Instant> ends_of(const FidelityWorld& world, sim::NetworkFidelity fidelity,
                             const Start& start) {
    sim::ClusterNetwork network(world.topology, {fidelity, 0});
    for (const FidelityWorld::Change& change : world.changes) {
        network.flows().plan_bandwidth(change.at, change.link, change.bandwidth);
    }
    for (const FidelityWorld::Job& job : world.jobs) start(network, job);
    std::vector<Instant> ends(world.jobs.size());
    while (const auto event = network.runs().run_until(Instant::never())) {
        if (event->kind == sim::NetworkEvent::Kind::run_finished) ends[event->number] = event->at;
    }
    return ends;
}

}  // namespace

std::vector<Instant> ends_of_schedules(const FidelityWorld& world) {
    return ends_of(world, sim::NetworkFidelity::exact,
                   [](sim::ClusterNetwork& network, const FidelityWorld::Job& job) {
                       const auto graph = sim::all_reduce_graph(
                           job.collective, static_cast<std::int32_t>(job.workers.size()),
                           job.per_host);
                       const auto routes = std::make_shared<const std::vector<sim::RouteId>>(
                           network.runs().routes_of(*graph, network.router(job.workers)));
                       network.runs().start(graph, routes, job.bytes, job.at);
                   });
}

std::vector<Instant> ends_of_steps(const FidelityWorld& world, sim::NetworkFidelity fidelity) {
    return ends_of(world, fidelity,
                   [](sim::ClusterNetwork& network, const FidelityWorld::Job& job) {
                       const sim::PlacedCollective placed(network, job.collective, job.workers,
                                                          job.per_host, "world");
                       placed.start(network, job.bytes, job.at);
                   });
}

double furthest_off(const FidelityWorld& world, std::span<const Instant> schedules,
                    std::span<const Instant> steps) {
    double most = 0;
    for (std::size_t job = 0; job < world.jobs.size(); ++job) {
        const double exact = to_seconds(schedules[job] - world.jobs[job].at);
        INVARIANT(exact > 0);
        most = std::max(most, std::abs(to_seconds(steps[job] - world.jobs[job].at) / exact - 1));
    }
    return most;
}

}  // namespace ukemi::test
