// read_variable_update.cpp — modes, and the machines of their servers.
#include "scenarios/reader/read_variable_update.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ukemi {
namespace {

std::vector<MachineId> machines_of(const Topology& topology, std::span<const DeviceId> workers) {
    std::vector<MachineId> machines;
    for (const DeviceId worker : workers) {
        const MachineId machine = topology.device(worker).machine;
        if (machines.empty() || machines.back() != machine) machines.push_back(machine);
    }
    return machines;
}

DeviceId first_socket(const Topology& topology, MachineId machine) {
    return topology.devices_of(DeviceKind::cpu, machine).front();
}

}  // namespace

ServerRequest read_variable_update(ConfigReader& job, const Topology& topology,
                                   std::span<const DeviceId>& left) {
    ServerRequest request;
    const std::string name = job.one_of("variable_update", variable_update_names, "all_reduce");
    request.update = static_cast<VariableUpdate>(std::ranges::find(variable_update_names, name) -
                                                 variable_update_names.begin());
    if (!has_servers(request.update)) {
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
    if (request.asynchronous && request.update != VariableUpdate::parameter_server) {
        config->fail("asynchronous", fmt::format("{} is synchronous: its workers sum first", name));
    }
    const bool separate = config->flag("separate", false);
    if (separate) {
        if (request.count == 0) config->fail("count", "how many machines of their own?");
        std::vector<MachineId> machines = machines_of(topology, left);
        const auto most = static_cast<std::int64_t>(machines.size()) - 1;
        if (request.count > most) {
            config->fail("count", fmt::format("expected at most {} of the {} machines that are "
                                              "left, so that one is for workers, found {}",
                                              most, machines.size(), request.count));
        }
        for (std::int64_t i = 0; i < request.count; ++i, machines.pop_back()) {
            request.separate.push_back(first_socket(topology, machines.back()));
            while (topology.device(left.back()).machine == machines.back()) {
                left = left.first(left.size() - 1);
            }
        }
    }
    config->finish();
    return request;
}

std::vector<DeviceId> servers_of(const ConfigReader& job, const Topology& topology,
                                 std::span<const DeviceId> workers, const ServerRequest& request) {
    if (!has_servers(request.update)) return {};
    if (!request.separate.empty()) return request.separate;
    const std::vector<MachineId> machines = machines_of(topology, workers);
    const auto most = static_cast<std::int64_t>(machines.size());
    if (request.count > most) {
        job.fail("servers", fmt::format("expected at most one server on each of the {} machines of "
                                        "the workers, found {}",
                                        most, request.count));
    }
    std::vector<DeviceId> servers;
    for (std::int64_t i = 0; i < (request.count == 0 ? most : request.count); ++i) {
        servers.push_back(first_socket(topology, machines[static_cast<std::size_t>(i)]));
    }
    return servers;
}

}  // namespace ukemi
