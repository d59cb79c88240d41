// nccl_times.cpp — from a choice to a time.
#include "sim/cluster/nccl/nccl_times.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace ukemi::sim {
namespace {

// GB/s, of all rings or NICs together.
struct Rates {
    double inside = 0;
    double between = 0;
};

double ring_us(const NcclPlace& place, NcclChoice choice, const Rates& rates, double kilobytes,
               NcclCollective collective, const NcclNumbers& numbers) {
    const double ranks = place.ranks();
    double rate = std::min(rates.inside, rates.between);
    if (choice.protocol == NcclProtocol::ll128) {
        const double share =
            place.machines == 1 && place.blackwell_board() ? 1 : numbers.ll128_inside;
        rate = std::min(rates.inside * share, rates.between);
    }
    if (choice.protocol == NcclProtocol::simple && place.machines == 1 &&
        place.generation == NcclGeneration::blackwell) {
        rate *= numbers.blackwell_ring;
    }
    if (choice.protocol == NcclProtocol::simple && place.machines > 1) {
        double even = rate / std::max(rates.inside, rates.between);
        for (int square = 0; square < numbers.ring_squares; ++square) even *= even;
        rate *= 1 - numbers.ring_lacks * even;
    }
    const double passes = collective == NcclCollective::all_reduce ? 2 : 1;
    double us = kilobytes * passes * (ranks - 1) / ranks / nccl_protocol_rate(place, choice, rate);
    if (choice.protocol == NcclProtocol::simple && place.machines == 1) {
        us += kilobytes / ranks * place.copy_s_per_byte * 1e9;
    }
    return us;
}

double tree_us(const NcclPlace& place, NcclChoice choice, const Rates& rates, Bytes bytes,
               double kilobytes) {
    // In bus bandwidth, of which the buffer goes at half.
    double rate = std::min(0.92 * rates.inside, nccl_tree_limit(place, choice.algorithm));
    if (place.machines > 1) {
        rate = std::min(rate, 2 * rates.between / nccl_tree_crossings(place.machines));
    }
    rate = nccl_protocol_rate(place, choice, rate) / 2;
    return kilobytes / (rate * nccl_size_correction(choice, bytes));
}

// The network's switches add up: the buffer leaves a machine once. Inside, each GPU gives parts of
// it to the others, and gets them back.
double collnet_us(const NcclPlace& place, const Rates& rates, double kilobytes) {
    const double gpus = place.per_machine;
    const double inside = rates.inside * gpus / std::max(1.0, 2 * (gpus - 1));
    return kilobytes / std::min(inside, rates.between);
}

// How much of their rate sums in switches reach with so large a buffer.
double filled(const NcclPlace& place, Bytes bytes, const std::array<double, 2>& lacks) {
    constexpr double full = 1 << 30;
    constexpr double least = 0.3;  // smaller buffers go by other ways
    const auto size = static_cast<double>(std::max<std::int64_t>(1, bytes.raw()));
    const double halvings = exact::log(full / size) / exact::log(2);
    const double each = lacks[place.generation >= NcclGeneration::blackwell ? 1 : 0];
    return std::clamp(1 - each * halvings, least, 1.0);
}

double nvls_us(const NcclPlace& place, const Rates& rates, Bytes bytes, double kilobytes,
               NcclCollective collective, const NcclNumbers& numbers) {
    const double ranks = place.per_machine;
    const double carried = collective == NcclCollective::all_reduce ? (ranks + 1) / ranks : 1;
    const double fill = filled(place, bytes, numbers.nvls_lacks);
    double us = kilobytes * carried / (rates.inside * nvls_reach(place) * fill);
    if (place.machines > 1) us = std::max(us, kilobytes / rates.between);
    return us;
}

double nvls_tree_us(const NcclPlace& place, NcclChoice choice, const Rates& rates, Bytes bytes,
                    double kilobytes, const NcclNumbers& numbers) {
    const double gpus = place.per_machine;
    const double ranks = place.ranks();
    const double inside = rates.inside * nvls_reach(place) * gpus / (gpus + 1);
    const double between = rates.between / nccl_tree_crossings(place.machines);
    const double limit = nccl_tree_limit(place, choice.algorithm) * ranks / (2 * (ranks - 1));
    const double fill = filled(place, bytes, numbers.nvls_tree_lacks);
    return kilobytes / (std::min({inside, between, limit}) * fill);
}

double distance_us(const NcclDistance& distance, NcclAlgorithm algorithm,
                   NcclCollective collective) {
    switch (algorithm) {
        case NcclAlgorithm::ring:
            return collective == NcclCollective::all_reduce ? distance.two_rounds_us
                                                            : distance.round_us;
        case NcclAlgorithm::tree:
        case NcclAlgorithm::nvls_tree: return 2 * distance.tree_us;
        case NcclAlgorithm::collnet:
        case NcclAlgorithm::nvls: return 2 * distance.hop_us;
    }
    return 0;
}

double launch_us(const NcclPlace& place, NcclChoice choice, NcclCollective collective,
                 const NcclNumbers& numbers) {
    const bool ring = choice.algorithm == NcclAlgorithm::ring;
    if (ring && place.machines == 1 && place.blackwell_board()) return numbers.board_ring_us;
    const bool sums_inside =
        choice.algorithm == NcclAlgorithm::nvls || choice.algorithm == NcclAlgorithm::nvls_tree;
    if (!sums_inside || collective != NcclCollective::all_reduce) return numbers.launch_us;
    const double boards = static_cast<double>(place.per_machine) / nccl_board;
    return numbers.launch_us + numbers.nvls_gpus_us * std::max(0.0, boards - 1);
}

}  // namespace

double nccl_start_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                          NcclCollective collective, const NcclNumbers& numbers) {
    const double us = launch_us(place, choice, collective, numbers) +
                      nccl_latency_us(place, choice, bytes, collective) +
                      distance_us(place.distance, choice.algorithm, collective);
    return us / 1e6;
}

double nccl_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                    NcclCollective collective, const NcclNumbers& numbers) {
    const Rates rates{place.inside_share * place.inside.raw() / 1e9,
                      place.between_share * place.between.raw() / 1e9};
    const double kilobytes = static_cast<double>(bytes.raw()) / 1e3;
    double us = 1e6 * nccl_start_seconds(place, choice, bytes, collective, numbers);
    switch (choice.algorithm) {
        case NcclAlgorithm::ring:
            us += ring_us(place, choice, rates, kilobytes, collective, numbers);
            break;
        case NcclAlgorithm::tree: us += tree_us(place, choice, rates, bytes, kilobytes); break;
        case NcclAlgorithm::collnet: us += collnet_us(place, rates, kilobytes); break;
        case NcclAlgorithm::nvls:
            us += nvls_us(place, rates, bytes, kilobytes, collective, numbers);
            break;
        case NcclAlgorithm::nvls_tree:
            us += nvls_tree_us(place, choice, rates, bytes, kilobytes, numbers);
            break;
    }
    return us / 1e6;
}

}  // namespace ukemi::sim
