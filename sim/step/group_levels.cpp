// group_levels.cpp — how the ranks of a group stand in sockets, machines, racks and zones.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/step/dimension_search.hpp"

namespace ukemi::sim {
namespace {

using Place = std::pair<std::uint64_t, std::uint64_t>;  // equal for ranks that stand together

// Ranks of a place, if it is the same of all and each place's stand together; else 0.
std::int32_t block_of(std::span<const Place> places) {
    std::size_t count = 1;
    while (count < places.size() && places[count] == places[0]) ++count;
    if (places.size() % count != 0) return 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] != places[i - i % count]) return 0;
        if (i >= count && i % count == 0 && places[i] == places[i - 1]) return 0;
    }
    return static_cast<std::int32_t>(count);
}

// Of each worker, the socket with the fewest links to it.
std::vector<Place> sockets_of(const Topology& topology, Routes& routes,
                              std::span<const DeviceId> workers) {
    std::map<MachineId, std::vector<DeviceId>> sockets;
    for (const DeviceId cpu : topology.devices_of(DeviceKind::cpu)) {
        sockets[topology.device(cpu).machine].push_back(cpu);
    }
    std::vector<Place> places;
    for (const DeviceId worker : workers) {
        const MachineId machine = topology.device(worker).machine;
        std::size_t fewest = SIZE_MAX;
        std::uint64_t nearest = UINT64_MAX;  // of a machine of which no socket is known
        for (const DeviceId cpu : sockets[machine]) {
            const std::size_t links = routes.route(worker, cpu).size();
            if (links < fewest) nearest = index_of(cpu);
            fewest = std::min(fewest, links);
        }
        places.emplace_back(index_of(machine), nearest);
    }
    return places;
}

}  // namespace

std::vector<GroupLevel> group_levels(const Topology& topology, Routes& routes,
                                     std::span<const DeviceId> workers) {
    std::array<std::vector<Place>, 4> places;
    places[0] = sockets_of(topology, routes, workers);
    for (const DeviceId worker : workers) {
        const MachineId id = topology.device(worker).machine;
        const Machine& machine = topology.machine(id);
        places[1].emplace_back(index_of(id), 0);
        places[2].emplace_back(index_of(machine.zone), machine.rack);
        places[3].emplace_back(index_of(machine.zone), 0);
    }
    const bool gpus = topology.device(workers.front()).kind == DeviceKind::gpu;
    std::string units = gpus ? "GPUs" : "workers";
    constexpr std::array<const char*, 4> names = {"sockets", "machines", "racks", "zones"};
    const auto ranks = static_cast<std::int32_t>(workers.size());
    std::vector<GroupLevel> levels;
    std::int32_t inside = 1;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::int32_t block = block_of(places[i]);
        if (block == 0 || block == ranks || block % inside != 0) continue;
        if (block > inside) levels.push_back({block, units});
        inside = block;
        units = names[i];
    }
    levels.push_back({ranks, units});
    return levels;
}

}  // namespace ukemi::sim
