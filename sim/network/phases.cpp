// phases.cpp — schedules folded into phases, and the phases of large collectives.
#include "sim/network/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

using Edge = TransferGraph::Edge;

bool equal(const Edge& a, const Edge& b) { return a.from == b.from && a.to == b.to; }

void sort_edges(std::vector<Edge>& edges) {
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return std::tie(a.from, a.to) < std::tie(b.from, b.to);
    });
}

void append(PhasedCollective& collective, CollectivePhase phase) {
    if (phase.edges.empty() || phase.rounds == 0) return;
    sort_edges(phase.edges);
    if (!collective.phases.empty()) {
        CollectivePhase& last = collective.phases.back();
        if (last.share == phase.share &&
            std::equal(last.edges.begin(), last.edges.end(), phase.edges.begin(), phase.edges.end(),
                       equal)) {
            last.rounds += phase.rounds;
            return;
        }
    }
    collective.phases.push_back(std::move(phase));
}

// Each rank of a line sends `share` of the buffer to those at these places of it, seen from its
// own.
template <class Places>
void append_round(PhasedCollective& collective, const kernels::GridAxis& axis, double share,
                  std::int64_t rounds, const Places& places) {
    CollectivePhase phase{{}, rounds, share};
    for (std::int32_t rank = 0; rank < collective.ranks; ++rank) {
        const std::int32_t place = rank / axis.stride % axis.size;
        places(place, [&](std::int32_t other) {
            phase.edges.push_back({rank, rank + (other - place) * axis.stride});
        });
    }
    append(collective, std::move(phase));
}

void append_axis(PhasedCollective& collective, const kernels::GridAxis& axis, double parts,
                 bool gathers) {
    const std::int32_t size = axis.size;
    if (size == 1) return;
    const double share = 1 / (parts * size);
    switch (axis.exchange) {
        case kernels::AxisExchange::ring:
            return append_round(collective, axis, share, size - 1,
                                [&](auto place, const auto& to) { to((place + 1) % size); });
        case kernels::AxisExchange::direct:
            return append_round(collective, axis, share, 1, [&](auto place, const auto& to) {
                for (std::int32_t other = 0; other < size; ++other) {
                    if (other != place) to(other);
                }
            });
        case kernels::AxisExchange::halving_doubling:
            for (std::int32_t i = 1; i < size; i *= 2) {
                const std::int32_t half = gathers ? i : size / 2 / i;
                append_round(collective, axis, half / (parts * size), 1,
                             [&](auto place, const auto& to) { to(place ^ half); });
            }
            return;
    }
}

PhasedCollective halving_doubling(std::int32_t ranks) {
    const auto power = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(ranks)));
    PhasedCollective collective{"halving_doubling", ranks, {}};
    const auto fold = [&](bool in) {
        CollectivePhase phase;
        for (std::int32_t rank = power; rank < ranks; ++rank) {
            phase.edges.push_back(in ? Edge{rank, rank - power} : Edge{rank - power, rank});
        }
        append(collective, std::move(phase));
    };
    const auto exchange = [&](std::int32_t distance) {
        CollectivePhase phase{{}, 1, static_cast<double>(distance) / power};
        for (std::int32_t rank = 0; rank < power; ++rank) {
            phase.edges.push_back({rank, rank ^ distance});
        }
        append(collective, std::move(phase));
    };
    fold(true);
    for (std::int32_t distance = power / 2; distance > 0; distance /= 2) exchange(distance);
    for (std::int32_t distance = 1; distance < power; distance *= 2) exchange(distance);
    fold(false);
    return collective;
}

}  // namespace

PhasedCollective phases_of(const kernels::Schedule& schedule) {
    PhasedCollective collective{schedule.name, schedule.ranks, {}};
    const std::vector<kernels::Transfer>& all = schedule.transfers;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        CollectivePhase phase{{}, 1, static_cast<double>(all[begin].chunk_count) / schedule.chunks};
        for (; end < all.size() && all[end].step == all[begin].step; ++end) {
            if (all[end].chunk_count != all[begin].chunk_count) {
                throw InputError("network", "",
                                 fmt::format("{} does not move in step: in step {} some send {} "
                                             "chunks and some {}",
                                             schedule.name, all[end].step, all[begin].chunk_count,
                                             all[end].chunk_count));
            }
            phase.edges.push_back({all[end].from, all[end].to});
        }
        append(collective, std::move(phase));
    }
    return collective;
}

namespace {

// Strands that move side by side are one transfer of all of their shares.
double edge_share(const CollectivePhase& phase) { return phase.share * phase.strands; }

}  // namespace

std::shared_ptr<const TransferGraph> graph_of(const PhasedCollective& collective,
                                              std::int32_t window) {
    double least = 1;
    for (const CollectivePhase& phase : collective.phases)
        least = std::min(least, edge_share(phase));
    const auto chunks = static_cast<std::int32_t>(1 / least + 0.5);
    kernels::Schedule schedule{collective.name, collective.ranks, chunks, {}};
    std::int32_t step = 0;
    for (const CollectivePhase& phase : collective.phases) {
        const auto count = static_cast<std::int32_t>(edge_share(phase) * chunks + 0.5);
        for (std::int64_t round = 0; round < phase.rounds; ++round, ++step) {
            for (const Edge& edge : phase.edges) {
                schedule.transfers.push_back({edge.from, edge.to, 0, count, step});
            }
        }
    }
    return std::make_shared<const TransferGraph>(schedule, TransferGraph::Order::steps, window);
}

std::int64_t transfer_count(const PhasedCollective& collective) {
    std::int64_t count = 0;
    for (const CollectivePhase& phase : collective.phases) {
        count += phase.rounds * static_cast<std::int64_t>(phase.edges.size());
    }
    return count;
}

PhasedCollective phased_grid(std::span<const kernels::GridAxis> axes) {
    PhasedCollective collective{kernels::words_of(axes), kernels::ranks_of(axes), {}};
    double parts = 1;  // into which the buffer is cut before an axis
    for (const kernels::GridAxis& axis : axes) {
        append_axis(collective, axis, parts, false);
        parts *= axis.size;
    }
    for (std::size_t level = axes.size(); level-- > 0;) {
        parts /= axes[level].size;
        append_axis(collective, axes[level], parts, true);
    }
    return collective;
}

PhasedCollective phased_all_reduce(policies::Collective algorithm, std::int32_t ranks,
                                   std::int32_t per_host) {
    const std::string refusal = kernels::schedule_refusal(algorithm, ranks, per_host);
    if (!refusal.empty()) throw InputError("network", "", refusal);
    if (algorithm == policies::Collective::double_binary_tree) {
        throw InputError("network", "",
                         "double_binary_tree is a pipeline: its ranks do not move in step, as the "
                         "fluid fidelity supposes");
    }
    algorithm = kernels::collective_meant(algorithm, ranks);
    const std::int32_t inside = per_host == 0 ? ranks : per_host;
    const std::array one_ring = {kernels::GridAxis{ranks, 1}};
    const std::array hosts = {kernels::GridAxis{inside, 1},
                              kernels::GridAxis{ranks / inside, inside}};
    PhasedCollective collective;
    switch (algorithm) {
        case policies::Collective::ring: collective = phased_grid(one_ring); break;
        case policies::Collective::hierarchical: collective = phased_grid(hosts); break;
        case policies::Collective::halving_doubling: return halving_doubling(ranks);
        default: return phases_of(kernels::all_reduce_schedule(algorithm, ranks, per_host));
    }
    collective.name = policies::collective_names()[static_cast<std::size_t>(algorithm)];
    return collective;
}

}  // namespace ukemi::sim
