// read_variable_update.cpp — modes, and the machines of their servers.
#include "scenarios/reader/read_variable_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ukemi::scenarios {
namespace {

// Each once, in the order of their first workers.
std::vector<sim::MachineId> machines_of(const sim::Topology& topology,
                                        std::span<const sim::DeviceId> workers) {
    std::vector<sim::MachineId> machines;
    std::set<sim::MachineId> seen;
    for (const sim::DeviceId worker : workers) {
        const sim::MachineId machine = topology.device(worker).machine;
        if (seen.insert(machine).second) machines.push_back(machine);
    }
    return machines;
}

sim::DeviceId first_socket(const sim::Topology& topology, sim::MachineId machine) {
    return topology.devices_of(sim::DeviceKind::cpu, machine).front();
}

// Those machines of `left` that can be servers alone, the last of them last.
std::vector<sim::MachineId> machines_alone(const ConfigReader& servers,
                                           const sim::Topology& topology, const WorkersLeft& left,
                                           std::int64_t count) {
    std::vector<sim::MachineId> alone = machines_of(topology, left.workers);
    const auto is_shared = [&](sim::MachineId machine) {
        return std::ranges::find(left.shared, machine) != left.shared.end();
    };
    const std::size_t all = alone.size();
    if (!left.placed) std::erase_if(alone, is_shared);
    const auto most =
        static_cast<std::int64_t>(std::min(alone.size(), all - std::min<std::size_t>(all, 1)));
    if (count > most) {
        servers.fail("count", fmt::format("expected at most {} of the {} machines that are left, "
                                          "so that one is for workers, found {}",
                                          most, all, count));
    }
    for (auto last = alone.end() - count; last != alone.end(); ++last) {
        if (!is_shared(*last)) continue;
        servers.fail("separate", fmt::format("machine {} has workers of another job",
                                             static_cast<std::uint32_t>(*last)));
    }
    return alone;
}

}  // namespace

ServerRequest read_variable_update(ConfigReader& job, const sim::Topology& topology,
                                   WorkersLeft& left) {
    ServerRequest request;
    const std::string name =
        job.one_of("variable_update", sim::variable_update_names, "all_reduce");
    request.update = static_cast<sim::VariableUpdate>(
        std::ranges::find(sim::variable_update_names, name) - sim::variable_update_names.begin());
    if (!sim::has_servers(request.update)) {
        if (job.has("servers")) {
            job.fail("servers", fmt::format("{} has no servers: they go with parameter_server and "
                                            "distributed_replicated",
                                            name));
        }
        return request;
    }
    auto config = job.object_if_present("servers");
    if (!config) return request;
    if (config->has("count")) request.count = config->integer("count", 1, 1 << 16);
    request.asynchronous = config->flag("asynchronous", false);
    if (request.asynchronous && request.update != sim::VariableUpdate::parameter_server) {
        config->fail("asynchronous", fmt::format("{} is synchronous: its workers sum first", name));
    }
    const bool separate = config->flag("separate", false);
    if (separate) {
        if (request.count == 0) config->fail("count", "how many machines of their own?");
        auto machines = machines_alone(*config, topology, left, request.count);
        for (std::int64_t i = 0; i < request.count; ++i, machines.pop_back()) {
            request.separate.push_back(first_socket(topology, machines.back()));
            std::erase_if(left.workers, [&](sim::DeviceId worker) {
                return topology.device(worker).machine == machines.back();
            });
        }
    }
    config->finish();
    return request;
}

std::vector<sim::DeviceId> servers_of(const ConfigReader& job, const sim::Topology& topology,
                                      std::span<const sim::DeviceId> workers,
                                      const ServerRequest& request) {
    if (!sim::has_servers(request.update)) return {};
    if (!request.separate.empty()) return request.separate;
    const std::vector<sim::MachineId> machines = machines_of(topology, workers);
    const auto most = static_cast<std::int64_t>(machines.size());
    if (request.count > most) {
        job.fail("servers", fmt::format("expected at most one server on each of the {} machines of "
                                        "the workers, found {}",
                                        most, request.count));
    }
    std::vector<sim::DeviceId> servers;
    for (std::int64_t i = 0; i < (request.count == 0 ? most : request.count); ++i) {
        servers.push_back(first_socket(topology, machines[static_cast<std::size_t>(i)]));
    }
    return servers;
}

}  // namespace ukemi::scenarios
