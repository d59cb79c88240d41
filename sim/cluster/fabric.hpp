// fabric.hpp — whole clusters: machines of a kind, zones, and the network that joins them.
//
// Every NIC of a machine has a link of its own line rate; switches do not block inside. What the
// kinds of network promise:
//   single_switch  every NIC on one switch
//   leaf_spine     `machines_per_leaf` machines on a leaf (their rack); each leaf has one link to
//                  each of `spines` switches, together what the NICs of a full leaf bring divided
//                  by `oversubscription`
//   fat_tree       k-ary fat tree (Al-Fares et al., SIGCOMM 2008) of the smallest even k whose k³/4
//                  places hold the machines; every link inside as fast as one machine's NICs
//   ring, torus    a router a machine, joined to its neighbours at the rate of the machine's NICs;
//                  the torus has the given two or three sides
//   rails          DGX pods: NIC i of every machine of a leaf group on that group's rail switch i,
//                  rail switches on spines as in leaf_spine (oversubscription too)
// Zones have a network each; their top switches meet in one router a zone, and routers are joined
// pairwise at `zone_bandwidth` and `zone_latency`. Devices and links are numbered in the order
// zone, machine, then switches, the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/machine_spec.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

enum class FabricKind : std::uint8_t { single_switch, leaf_spine, fat_tree, ring, torus, rails };
inline constexpr std::array<std::string_view, 6> fabric_names = {
    "single_switch", "leaf_spine", "fat_tree", "ring", "torus", "rails"};

struct FabricSpec {
    FabricKind kind = FabricKind::single_switch;
    std::uint32_t machines_per_leaf = 16;  // leaf_spine and rails
    std::uint32_t spines = 1;              // leaf_spine and rails
    double oversubscription = 1;           // ≥ 1: what enters a leaf from below to what leaves it
    std::array<std::uint32_t, 3> sides{};  // torus; their product is the number of machines
    // Of each NIC's link, and of one hop from NIC to NIC; none: as the machine's table says.
    std::optional<BytesPerSecond> bandwidth = std::nullopt;
    std::optional<Duration> latency = std::nullopt;
};

// What joins a machine to the others, where its table or file does not say it, or otherwise.
struct NicLinks {
    NicKind kind = NicKind::infiniband;
    std::optional<BytesPerSecond> bandwidth = std::nullopt;  // none: as the table or file says
    std::optional<Duration> latency = std::nullopt;          // of a hop; none: as the kind's usual
};

struct ZoneSpec {
    std::string machine;  // a preset, or the file that `inside` is from
    std::uint32_t count = 1;
    FabricSpec fabric;
    std::shared_ptr<const Topology> inside = {};  // one machine; none: the preset
    std::optional<NicLinks> links = std::nullopt;
    std::string counted_at = {};  // where `count` stands; empty: where the cluster does
    std::shared_ptr<const GpuProfile> described_gpu = {};  // in a preset: in place of its own
};

struct ClusterSpec {
    std::vector<ZoneSpec> zones;                 // one at least, or `whole`
    std::shared_ptr<const Topology> whole = {};  // from a file, already wired
    std::vector<std::int32_t> grid = {};         // of it, the sizes of its dimensions
    BytesPerSecond zone_bandwidth = gigabits_per_second(10);
    Duration zone_latency = milliseconds(1);
};

inline constexpr std::uint32_t machines_max = 1U << 16;

// InputError(WHERE …) if a name is unknown or a number does not fit its network; of a count that is
// too large, where that stands.
Topology build_cluster(const ClusterSpec& spec, std::string_view where = "cluster");
// One zone of `count` machines.
Topology build_cluster(std::string_view machine, std::uint32_t count, const FabricSpec& fabric = {},
                       std::string_view counted_at = "cluster");

}  // namespace ukemi::sim
