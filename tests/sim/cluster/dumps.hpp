// dumps.hpp — a DGX-1 as NCCL and as nvidia-smi describe it, for tests of their readers.
//
// Written from the forms of those programs (NCCL src/graph/xml.cc; the legend that nvidia-smi topo
// -m prints), not copied from a machine.
#pragma once

#include <fmt/format.h>

#include <string>

#include "sim/cluster/machine_spec.hpp"

namespace ukemi {

inline std::string bus_of(std::uint32_t gpu) { return fmt::format("0000:{:02x}:00.0", 6 + gpu); }

inline std::string dgx1_xml() {
    std::string text = "<?xml version=\"1.0\"?>\n<system version=\"1\">\n";
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
        if (gpu % 4 == 0) {
            text += fmt::format("  <cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\">\n",
                                gpu / 4);
        }
        if (gpu % 2 == 0) {
            text += fmt::format(
                "    <pci busid=\"0000:0{}:00.0\" class=\"0x060400\" link_speed=\"8.0 GT/s PCIe\" "
                "link_width=\"16\">\n",
                gpu / 2);
        }
        text += fmt::format(
            "      <pci busid=\"{}\" class=\"0x030200\" link_speed=\"8.0 GT/s PCIe\" "
            "link_width=\"16\">\n        <gpu dev=\"{}\" sm=\"70\" rank=\"{}\" gdr=\"1\">\n",
            bus_of(gpu), gpu, gpu);
        for (std::uint32_t other = 0; other < 8; ++other) {
            if (other == gpu || sim::hybrid_cube_lanes(gpu, other) == 0) continue;
            text +=
                fmt::format("          <nvlink target=\"{}\" count=\"{}\" tclass=\"0x030200\"/>\n",
                            bus_of(other), sim::hybrid_cube_lanes(gpu, other));
        }
        text += "        </gpu>\n      </pci>\n";
        if (gpu % 2 == 1) {
            text += fmt::format(
                "      <pci busid=\"0000:8{}:00.0\" class=\"0x020700\" link_speed=\"8.0 GT/s "
                "PCIe\" "
                "link_width=\"16\">\n        <nic><net name=\"mlx5_{}\" dev=\"{}\" "
                "speed=\"100000\" port=\"1\" gdr=\"1\"/></nic>\n      </pci>\n    </pci>\n",
                gpu, gpu / 2, gpu / 2);
        }
        if (gpu % 4 == 3) text += "  </cpu>\n";
    }
    return text + "</system>\n";
}

inline std::string dgx1_smi() {
    // Eight GPUs, then four NICs, one beside each pair of GPUs.
    std::string text = "\t\x1b[4m";
    for (int gpu = 0; gpu < 8; ++gpu) text += fmt::format("GPU{}\t", gpu);
    for (int nic = 0; nic < 4; ++nic) text += fmt::format("mlx5_{}\t", nic);
    text += "CPU Affinity\tNUMA Affinity\x1b[0m\n";
    const auto pair_of = [](std::uint32_t i) { return i < 8 ? i / 2 : i - 8; };
    for (std::uint32_t i = 0; i < 12; ++i) {
        text += i < 8 ? fmt::format("GPU{}", i) : fmt::format("mlx5_{}", i - 8);
        for (std::uint32_t j = 0; j < 12; ++j) {
            if (i == j) {
                text += "\t X ";
            } else if (i < 8 && j < 8 && sim::hybrid_cube_lanes(i, j) > 0) {
                text += fmt::format("\tNV{}", sim::hybrid_cube_lanes(i, j));
            } else if (pair_of(i) == pair_of(j)) {
                text += "\tPIX";
            } else {
                text += pair_of(i) / 2 == pair_of(j) / 2 ? "\tPHB" : "\tSYS";
            }
        }
        if (i < 8) text += fmt::format("\t{}\t{}", i < 4 ? "0-19,40-59" : "20-39,60-79", i / 4);
        text += "\n";
    }
    return text + "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n";
}

// `from` must be there once at least; its first place is changed.
inline std::string changed(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? std::string() : text.replace(at, from.size(), to);
}

}  // namespace ukemi
