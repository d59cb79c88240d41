// smi_topology.hpp — a machine from what `nvidia-smi topo -m` prints.
//
// The matrix says how each two devices reach each other: X itself, NV# that many NVLinks, PIX one
// PCIe bridge, PXB several, PHB the host bridge, NODE two of them in one NUMA node, SYS (before:
// SOC) between sockets. That is not all of a machine: devices in a relation PIX or PXB are put
// behind one PCIe switch; a socket is what has the same NUMA affinity, if that is one node,
// whatever the relation (some machines say SYS within a socket), or the same affinity but SYS, or
// is joined by any relation but SYS and NV#. Where the NVLinks of any row are more than `gpu` has
// lanes (18 without it: four GPUs of a DGX-2 are then taken for directly linked ones), all go to
// one NVSwitch. NICs that are the nearest of no GPU are left out (nic_choice.hpp). PCIe and NVLink
// rates are those of `gpu`, or generation 3 and 25 GB/s.
#pragma once

#include <filesystem>
#include <string_view>

#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

struct SmiOptions {
    const GpuProfile* gpu = nullptr;  // the text does not say
};

// One machine. Throws InputError(FILE:LINE:COLUMN …).
Topology parse_smi_topology(std::string_view text, std::string_view file,
                            const SmiOptions& options = {});
Topology read_smi_topology(const std::filesystem::path& file, const SmiOptions& options = {});

}  // namespace ukemi::sim
