// nccl_model.cpp — NCCL's constants and what it makes of them.
#include "sim/cluster/nccl/nccl_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

namespace ukemi::sim {
namespace {

using ByProtocol = std::array<double, nccl_protocols>;
using ByScale = std::array<double, 3>;  // one machine, two, more

// Microseconds, LL, LL128, Simple; ring, then tree.
constexpr std::array<ByProtocol, 2> base_us = {{{6.6, 14.0, nccl_simple_us}, {6.8, 14.0, 8.4}}};
constexpr std::array<ByProtocol, 2> nvlink_us = {{{0.6, 1.9, 3.4}, {0.6, 1.25, 4.0}}};
constexpr std::array<ByProtocol, 2> pcie_us = {{{1.0, 2.5, 5.7}, {1.0, 1.9, 4.0}}};
constexpr std::array<ByProtocol, 2> network_us = {{{2.7, 4.0, 14.0}, {5.0, 8.5, 14.0}}};
constexpr double nvls_latency_us = 25;
constexpr double nvls_tree_network_us = 20.9;
constexpr double nvls_network_us = 18;
// CollNet over NVSwitches: in and out, 0.4 us more for each GPU; the network once.
constexpr double collnet_hop_us = 3.7;
constexpr double collnet_gpu_us = 0.4;
constexpr double collnet_network_us = 31;

// GB/s, by generation from Volta on: LL in all (between machines by the vendor of CPUs, Intel or
// AMD), LL128 and trees a channel.
constexpr std::array<ByScale, 4> ll_most = {
    {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr std::array<ByScale, 4> ring_ll128_channel = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr std::array<ByScale, 4> tree_ll128_channel = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<ByScale, 4> tree_channel = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<ByScale, 4> nvls_tree_channel = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};

// Of a tree's bandwidth, by powers of two from 64 bytes.
constexpr std::array<std::array<double, 24>, nccl_protocols> tree_correction = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

// What its search for channels takes links for, of the line rate (src/graph/topo.h).
constexpr std::array<double, 4> nvlink_share = {20.0 / 25, 20.0 / 25, 20.6 / 25, 40.1 / 50};
constexpr double pcie_share = 12 / 15.754;

std::size_t generation_of(const NcclPlace& place) {
    const auto generation = static_cast<std::size_t>(place.generation);
    return generation == 0 ? 0 : generation - 1;  // Pascal has Volta's constants
}

std::size_t scale_of(const NcclPlace& place) {
    return static_cast<std::size_t>(std::min(place.machines, 3) - 1);
}

std::int32_t whole_log2(std::int64_t value) {
    return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

std::int32_t passes_of(NcclCollective collective) {
    return collective == NcclCollective::all_reduce ? 2 : 1;
}

double ring_latency_us(const NcclPlace& place, std::size_t protocol, Bytes bytes,
                       NcclCollective collective) {
    const bool simple = protocol == static_cast<std::size_t>(NcclProtocol::simple);
    const std::int32_t passes = passes_of(collective);
    const std::int32_t crossing = passes * (place.machines - 1);
    const std::int32_t staying = passes * (place.ranks() - 1) - crossing;
    double inside = (place.nvlink ? nvlink_us : pcie_us)[0][protocol];
    // Posting to the network takes that long in every step.
    if (place.machines > 1) {
        inside = std::max(inside, (place.amd ? 2.0 : 1.0) * (simple ? 3 : 1));
    }
    // With a GPU a machine nothing hides a hop: a tree's price.
    const double between = network_us[place.per_machine == 1 ? 1 : 0][protocol] +
                           place.hop_us * (simple ? 2 : 1);  // and the flush
    const double latency = base_us[0][protocol] + staying * inside + crossing * between;
    const bool plateau = simple && place.machines > 1 && collective == NcclCollective::all_reduce &&
                         bytes.raw() >= std::int64_t{64} * place.priced_channels() * place.ranks();
    if (!plateau) return latency;
    return latency * (place.generation < NcclGeneration::ampere ? 1.9 : 1.4);
}

constexpr std::array all_choices = {
    NcclChoice{NcclAlgorithm::ring, NcclProtocol::ll},
    NcclChoice{NcclAlgorithm::ring, NcclProtocol::ll128},
    NcclChoice{NcclAlgorithm::ring, NcclProtocol::simple},
    NcclChoice{NcclAlgorithm::tree, NcclProtocol::ll},
    NcclChoice{NcclAlgorithm::tree, NcclProtocol::ll128},
    NcclChoice{NcclAlgorithm::tree, NcclProtocol::simple},
    NcclChoice{NcclAlgorithm::collnet, NcclProtocol::simple},
    NcclChoice{NcclAlgorithm::nvls, NcclProtocol::simple},
    NcclChoice{NcclAlgorithm::nvls_tree, NcclProtocol::simple},
};

bool is_possible(const NcclPlace& place, NcclChoice choice, NcclCollective collective) {
    if (choice.protocol == NcclProtocol::ll128 && !place.ll128) return false;
    if (place.ring_only && choice.algorithm != NcclAlgorithm::ring) return false;
    switch (choice.algorithm) {
        case NcclAlgorithm::ring: return true;
        case NcclAlgorithm::tree: return collective == NcclCollective::all_reduce;
        // Its kernels of one hop need NVSwitches.
        case NcclAlgorithm::collnet:
            return place.sums && place.switched && place.machines > 1 &&
                   collective == NcclCollective::all_reduce;
        case NcclAlgorithm::nvls:
            return place.nvls && (place.machines == 1 ||
                                  (place.sums && collective == NcclCollective::all_reduce));
        case NcclAlgorithm::nvls_tree:
            return place.nvls && place.machines > 1 && collective == NcclCollective::all_reduce;
    }
    return false;
}

}  // namespace

std::string to_string(NcclChoice choice) {
    constexpr std::array<std::string_view, nccl_protocols> protocols = {"LL", "LL128", "Simple"};
    constexpr std::array<std::string_view, 5> algorithms = {"ring", "tree", "CollNet", "NVLS",
                                                            "NVLSTree"};
    return fmt::format("{}/{}", algorithms[static_cast<std::size_t>(choice.algorithm)],
                       protocols[static_cast<std::size_t>(choice.protocol)]);
}

double nccl_latency_us(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                       NcclCollective collective) {
    const auto protocol = static_cast<std::size_t>(choice.protocol);
    const std::int32_t levels = whole_log2(place.machines);
    switch (choice.algorithm) {
        case NcclAlgorithm::ring: return ring_latency_us(place, protocol, bytes, collective);
        case NcclAlgorithm::tree: {
            const double inside = (place.nvlink ? nvlink_us : pcie_us)[1][protocol];
            const bool simple = choice.protocol == NcclProtocol::simple;
            const double between = network_us[1][protocol] + place.hop_us * (simple ? 2 : 1);
            return base_us[1][protocol] + 2 * ((place.per_machine - 1) * inside + levels * between);
        }
        case NcclAlgorithm::collnet: {
            const std::int32_t others = place.per_machine - 1;
            return 2 * (std::min(1, others) * collnet_hop_us + others * collnet_gpu_us) +
                   collnet_network_us + 2 * place.hop_us;
        }
        case NcclAlgorithm::nvls:
            return nvls_latency_us + (place.machines == 1 ? 0 : nvls_network_us + 2 * place.hop_us);
        case NcclAlgorithm::nvls_tree:
            return nvls_latency_us + 2 * levels * (nvls_tree_network_us + 2 * place.hop_us);
    }
    return 0;
}

double nccl_protocol_rate(const NcclPlace& place, NcclChoice choice, double simple) {
    const std::size_t generation = generation_of(place);
    const std::size_t scale = scale_of(place);
    const bool ring = choice.algorithm == NcclAlgorithm::ring;
    if (choice.protocol == NcclProtocol::ll) {
        const double most = ll_most[place.machines == 1 ? generation : place.amd ? 1 : 0][scale];
        return std::min(ring ? simple / 2 : simple / 3.8, most);
    }
    if (choice.protocol == NcclProtocol::ll128) {
        const double wire = ring ? 0.92 : place.machines == 1 ? 7.0 / 9 : 120.0 / 128;
        const auto& channel = ring ? ring_ll128_channel : tree_ll128_channel;
        return std::min(simple * wire, place.priced_channels() * channel[generation][scale]);
    }
    return simple;
}

double nccl_size_correction(NcclChoice choice, Bytes bytes) {
    if (choice.algorithm == NcclAlgorithm::ring) return 1;
    const std::int64_t blocks = bytes.raw() / 64;
    const std::int32_t power = blocks > 0 ? whole_log2(blocks) : 0;
    const auto& corrections = tree_correction[static_cast<std::size_t>(choice.protocol)];
    return static_cast<std::size_t>(power) < corrections.size()
               ? corrections[static_cast<std::size_t>(power)]
               : 1;
}

double nccl_tree_limit(const NcclPlace& place, NcclAlgorithm algorithm) {
    const auto& channel = algorithm == NcclAlgorithm::tree ? tree_channel : nvls_tree_channel;
    return place.priced_channels() * channel[generation_of(place)][scale_of(place)];
}

double nccl_tree_crossings(std::int32_t machines) {
    return machines <= 2 ? 1 : machines == 3 ? 1.5 : 2;
}

double nvls_efficiency(NcclGeneration generation) {
    return generation == NcclGeneration::blackwell ? 0.74 : 0.85;
}

// 72 GB200 reach 839 GB/s of bus bandwidth where eight B200 reach what NCCL expects
// (coreweave/nccl-tests#43); from which number on is not published.
double nvls_reach(const NcclPlace& place) {
    return place.per_machine > nccl_board ? 0.59 : nvls_efficiency(place.generation);
}

double nccl_own_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                        NcclCollective collective) {
    const double ranks = place.ranks();
    const double inside =
        (place.nvlink ? nvlink_share[generation_of(place)] : pcie_share) * place.inside.raw() / 1e9;
    const double between = nccl_network_share * place.between.raw() / 1e9;
    const double of_ring = ranks / (passes_of(collective) * (ranks - 1));
    double rate = std::min(inside, between);  // bus bandwidth, then the algorithm's
    switch (choice.algorithm) {
        case NcclAlgorithm::ring: rate = nccl_protocol_rate(place, choice, rate) * of_ring; break;
        case NcclAlgorithm::tree:
            if (place.machines == 2) rate = std::min(inside, 2 * between);
            rate = std::min(0.92 * rate, nccl_tree_limit(place, choice.algorithm));
            rate = nccl_protocol_rate(place, choice, rate) / 2;
            rate *= nccl_size_correction(choice, bytes);
            break;
        case NcclAlgorithm::collnet: {
            // Half of what more GPUs than NICs cost.
            const double more = static_cast<double>(place.per_machine) / place.priced_channels();
            rate = between / (more - (more - 1) / 2) / 2;
            if (place.generation >= NcclGeneration::hopper) rate *= 0.85;
            break;
        }
        case NcclAlgorithm::nvls: {
            // As many channels as it has links to the switches; one of them waits.
            constexpr double channels = 16;
            rate = inside * nvls_efficiency(place.generation) * (channels - 1) / channels;
            if (place.machines > 1) {
                rate = std::min(2 * rate, between) * of_ring;
                break;
            }
            rate *= collective == NcclCollective::all_reduce ? 2 * of_ring : (ranks - 1) / ranks;
            break;
        }
        case NcclAlgorithm::nvls_tree: {
            const double channels = place.priced_channels();
            rate = 2 * inside * nvls_efficiency(place.generation) * (channels - 1) / channels;
            rate = std::min({rate, between * (place.machines == 2 ? 2 : 1),
                             nccl_tree_limit(place, choice.algorithm)});
            rate *= of_ring;
            if (place.generation == NcclGeneration::blackwell) {
                rate *= nccl_size_correction(choice, bytes);
            }
            break;
        }
    }
    const double us = nccl_latency_us(place, choice, bytes, collective);
    return us / 1e6 + static_cast<double>(bytes.raw()) / (rate * 1e9);
}

NcclChoice nccl_choice(const NcclPlace& place, Bytes bytes, NcclCollective collective) {
    NcclChoice best;
    double least = 0;
    for (const NcclChoice choice : all_choices) {
        if (!is_possible(place, choice, collective)) continue;
        const double seconds = nccl_own_seconds(place, choice, bytes, collective);
        if (least > 0 && seconds >= least) continue;
        least = seconds;
        best = choice;
    }
    return best;
}

}  // namespace ukemi::sim
