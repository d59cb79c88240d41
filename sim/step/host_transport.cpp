// host_transport.cpp — which socket a worker is on.
#include "sim/step/host_transport.hpp"

#include <algorithm>
#include <vector>

#include "base/input_error.hpp"

namespace ukemi::sim {

DeviceId socket_of(const Topology& topology, Routes& routes, DeviceId worker) {
    const Device& device = topology.device(worker);
    if (device.kind == DeviceKind::cpu) return worker;
    std::vector<DeviceId> sockets = topology.devices_of(DeviceKind::cpu, device.machine);
    std::erase_if(sockets, [&](DeviceId socket) { return !routes.connected(worker, socket); });
    if (sockets.empty()) {
        throw InputError(topology.full_name(worker), "", "is on no processor socket");
    }
    return *std::ranges::min_element(
        sockets, {}, [&](DeviceId socket) { return routes.latency(worker, socket); });
}

}  // namespace ukemi::sim
