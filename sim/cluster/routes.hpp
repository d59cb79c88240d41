// routes.hpp — which way a flow takes through a topology, and always the same one.
//
// Shortest paths: fewest network links first (as switches count hops), then the least latency, then
// the fewest links, then the soonest out of the machine: on rails a message takes its sender's NIC
// and crosses inside the machine that it comes to. A GPU is no thoroughfare: a path may begin and
// end at one, never cross it.
// Where several next links are equally good (ECMP), each device chooses by a hash of (source,
// destination, flow number, itself), so that flows spread, one flow keeps to one path, and no
// choice depends on an address. Among NICs that are equally near to a GPU, beside it or anywhere in
// its machine, it has the one of its number: those GPUs have them in turn, as NCCL gives them out,
// and none is left over unless there are more NICs than GPUs. What is left to a destination is
// route_costs.hpp's; paths are kept, so a span stays valid as long as its Routes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

class Routes {
public:
    // The topology outlives it, and gets no more devices or links meanwhile.
    explicit Routes(const Topology& topology);
    ~Routes();
    Routes(Routes&&) noexcept;
    Routes& operator=(Routes&&) noexcept;

    // The links from one device to another in order; empty from a device to itself. Throws
    // InputError, naming both, if there is no path.
    std::span<const LinkId> route(DeviceId from, DeviceId to, std::uint64_t flow = 0);
    bool connected(DeviceId from, DeviceId to);
    Duration latency(DeviceId from, DeviceId to);  // of all its links; every flow's is the same
    BytesPerSecond bandwidth(DeviceId from, DeviceId to, std::uint64_t flow = 0);  // the least

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The NIC by which messages leave for there; nothing if they stay inside a machine.
std::optional<DeviceId> nic_towards(const Topology& topology, Routes& routes, DeviceId from,
                                    DeviceId to);

// Throws InputError naming the first two workers between which there is no path.
void check_connected(const Topology& topology);

}  // namespace ukemi::sim
