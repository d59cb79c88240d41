// nic_choice.hpp — which NICs of a machine its GPUs send by, where a file lists all that it has.
//
// Cards for storage and for the host stand in such files, too. A port is a NIC of its own for NCCL;
// here those of a card that are equally fast are one link of their sum, and others are left out. Of
// the cards those of one rate are kept: those that move most together, of equals those of which
// more is near to GPUs, then the faster; and of these the nearest of any GPU. Ways between sockets
// count where no GPU has a nearer NIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ukemi::sim {

// From a GPU to a NIC, the nearest first: NCCL's PIX, PXB, PHB (in `nvidia-smi topo -m` NODE, too),
// SYS.
enum class NicWay : std::uint8_t { one_switch, switches, host_bridge, sockets };

struct NicCard {
    std::vector<std::int64_t> port_mbit;  // at least one
    std::vector<NicWay> ways;             // by GPU, of all cards as many
};

struct NicChoice {
    std::vector<bool> kept;       // by card
    std::int64_t mbit = 0;        // of each that is kept; 0 without cards
    std::int64_t ports_left = 0;  // out, of all cards
};
NicChoice chosen_nics(std::span<const NicCard> cards);

// ", 2 ports of NICs left out"; empty for none.
std::string words_of_ports_left(std::int64_t ports);

}  // namespace ukemi::sim
