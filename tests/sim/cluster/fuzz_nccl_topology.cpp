// fuzz_nccl_topology.cpp — any bytes at all: a dump is a connected machine or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/nccl_topology.hpp"
#include "sim/cluster/rings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    try {
        const ukemi::sim::Topology topology =
            ukemi::sim::parse_nccl_topology({reinterpret_cast<const char*>(data), size}, "fuzz");
        std::vector<ukemi::sim::DeviceId> gpus = topology.workers();
        INVARIANT(!gpus.empty());
        gpus.resize(std::min<std::size_t>(gpus.size(), 6));
        if (gpus.size() > 1) INVARIANT(!ukemi::sim::find_rings(topology, gpus).rings.empty());
    } catch (const ukemi::InputError&) {  // the only way to refuse
    }
    return 0;
}
