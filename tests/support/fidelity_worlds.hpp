// fidelity_worlds.hpp — six families of random clusters on which the fidelities of the network are
// compared: what tests bound and a benchmark prints.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "policies/plan.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/network_rule.hpp"

namespace ukemi::test {

struct FidelityWorld {
    struct Job {
        policies::Collective collective{};
        std::vector<sim::DeviceId> workers;
        std::int32_t per_host = 1;
        Bytes bytes;
        Instant at;
    };
    struct Change {
        Instant at;
        sim::LinkId link{};
        BytesPerSecond bandwidth;
    };
    sim::Topology topology;
    std::vector<Job> jobs;
    std::vector<Change> changes;
};

inline constexpr std::array<std::string_view, 6> fidelity_families = {
    "one ring, links change",
    "several rings, links change",
    "rings beside other collectives",
    "small buffers",
    "halving_doubling on an idle network",
    "trees on an idle network",
};

// Of 4 to 64 workers. The same seed gives the same world.
FidelityWorld fidelity_world(std::size_t family, std::uint64_t seed);

// When each job is over: transfer by transfer as the schedules of live workers say, or as steps
// play it.
std::vector<Instant> ends_of_schedules(const FidelityWorld& world);
std::vector<Instant> ends_of_steps(const FidelityWorld& world, sim::NetworkFidelity fidelity);

// The greatest of a world's jobs: how far an end is from that of the schedules, as a share of it.
double furthest_off(const FidelityWorld& world, std::span<const Instant> schedules,
                    std::span<const Instant> steps);

}  // namespace ukemi::test
