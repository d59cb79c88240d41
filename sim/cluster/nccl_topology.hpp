// nccl_topology.hpp — a machine from NCCL's own description of it.
//
// Reads what NCCL_TOPO_DUMP_FILE writes: <system> of <cpu> (sockets), in them <pci> bridges and
// devices, <gpu> with <nvlink>, <nic> with <net>. PCIe links get the line rate of link_speed and
// link_width: generation 3 where the speed, x16 where the width is missing, empty or unknown (0 or
// 255), as in many virtual machines and as NCCL assumes. Which GPU it is follows from the number of
// its PCI device; of another number it is taken for the usual one of its compute capability, and
// the machine says so. NVLinks get the line rate of the GPU's compute capability; nvlink targets
// are GPUs, switches (class 0x0680, all of them one plane) or the GPU's own socket (POWER). Sockets
// are joined pairwise at the rate of their vendor's machines in machines/tables.hpp.
//
// The ports (<net>) of a <nic> are one link of their speeds' sum; of the NICs those stay that
// nic_choice.hpp chooses, and the machine says how many ports do not. In virtual machines and
// containers one <net> stands under several <cpu>, without a PCI device: with the same name, dev
// and guid on the same host it is one, at the first of them, and refused where its speeds differ.
// <pcilink>, by which NCCL notes that switches of Broadcom reach each other, adds nothing to the
// tree and is left out.
//
// A dump of one NVLink domain has several hosts (host_hash of <cpu>), each with its own buses and
// numbers of devices. All of it is one machine, as gb200_nvl72 is one: counted, bought and lost as
// a whole. Only NVLink joins its hosts: what a GPU sends to another one's CPUs goes by the network.
//
// Elements that NCCL does not write are refused; attributes that are not needed are not looked at.
#pragma once

#include <filesystem>
#include <string_view>

#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

// One machine. Throws InputError(FILE:LINE:COLUMN …).
Topology parse_nccl_topology(std::string_view text, std::string_view file);
Topology read_nccl_topology(const std::filesystem::path& file);

}  // namespace ukemi::sim
