// transfer_graph.cpp — follows who holds what, transfer by transfer.
#include "sim/network/transfer_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

constexpr std::uint64_t cells_max = std::uint64_t{1} << 29;  // ranks × chunks

}  // namespace

class TransferGraphBuilder {
public:
    TransferGraphBuilder(const kernels::Schedule& schedule, TransferGraph& graph)
        : schedule_(schedule), graph_(graph) {
        const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
        const auto chunks = static_cast<std::uint64_t>(schedule.chunks);
        if (ranks * chunks > cells_max || schedule.transfers.size() > cells_max) {
            throw InputError("network", "",
                             fmt::format("{} on {} ranks is too large to be simulated chunk by "
                                         "chunk; use the fluid fidelity",
                                         schedule.name, schedule.ranks));
        }
        bringer_.assign(static_cast<std::size_t>(ranks * chunks), nobody);
        graph_.nodes_.reserve(schedule.transfers.size() + 1);
    }

    void build() {
        for (const kernels::Transfer& transfer : schedule_.transfers) take(transfer);
        graph_.nodes_.push_back({});
        // Successors by counting: first how many, then where.
        std::vector<std::uint32_t> count(graph_.nodes_.size() + 1);
        for (const auto& [before, after] : waits_for_) ++count[before];
        std::uint32_t total = 0;
        for (std::size_t i = 0; i < graph_.nodes_.size(); ++i) {
            graph_.nodes_[i].successors_begin = total;
            total += std::exchange(count[i], total);
        }
        graph_.successors_.resize(total);
        graph_.waits_.assign(graph_.nodes_.size() - 1, 0);
        for (const auto& [before, after] : waits_for_) {
            graph_.successors_[count[before]++] = after;
            ++graph_.waits_[after];
        }
    }

private:
    static constexpr std::uint32_t nobody = 0xffffffff;

    struct Channel {
        std::uint32_t edge = 0;
        std::uint32_t last = nobody;  // the latest transfer on it
    };

    std::uint32_t* held_by(std::int32_t rank, std::int32_t chunk) {
        return bringer_.data() +
               static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.chunks) +
               static_cast<std::size_t>(chunk);
    }

    Channel& channel_of(const kernels::Transfer& transfer) {
        const auto key = (static_cast<std::uint64_t>(transfer.from) << 32 |
                          static_cast<std::uint64_t>(transfer.to))
                             << 8 |
                         transfer.channel;
        const auto [found, is_new] = channels_.try_emplace(key);
        if (is_new) {
            const auto [edge, first] =
                edges_.try_emplace(key >> 8, static_cast<std::uint32_t>(graph_.edges_.size()));
            if (first) graph_.edges_.push_back({transfer.from, transfer.to});
            found->second.edge = edge->second;
        }
        return found->second;
    }

    std::uint32_t add_node(const TransferGraph::Node& node) {
        graph_.nodes_.push_back(node);
        return static_cast<std::uint32_t>(graph_.nodes_.size() - 1);
    }

    void take(const kernels::Transfer& transfer) {
        Channel& channel = channel_of(transfer);
        before_.clear();
        if (channel.last != nobody) before_.push_back(channel.last);
        const std::uint32_t* const sent = held_by(transfer.from, transfer.first_chunk);
        for (std::int32_t i = 0; i < transfer.chunk_count; ++i) {
            if (sent[i] != nobody && before_.empty()) before_.push_back(sent[i]);
            if (sent[i] != nobody && before_.back() != sent[i]) before_.push_back(sent[i]);
        }
        std::sort(before_.begin(), before_.end());
        before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
        const std::uint32_t node =
            add_node({channel.edge, transfer.first_chunk, transfer.chunk_count, 0});
        channel.last = node;
        for (const std::uint32_t before : before_) waits_for_.emplace_back(before, node);
        ++graph_.transfer_count_;
        arrive(transfer, node);
    }

    void arrive(const kernels::Transfer& transfer, std::uint32_t node) {
        std::uint32_t* const held = held_by(transfer.to, transfer.first_chunk);
        if (transfer.kind == kernels::TransferKind::copy) {
            std::fill_n(held, transfer.chunk_count, node);
            return;
        }
        std::uint32_t joined = nobody;  // what the join before stands for
        std::uint32_t join = nobody;
        for (std::int32_t i = 0; i < transfer.chunk_count; ++i) {
            if (held[i] == nobody) {
                held[i] = node;
                continue;
            }
            if (held[i] != joined) {
                joined = held[i];
                join = add_node({TransferGraph::join, 0, 0, 0});
                waits_for_.emplace_back(joined, join);
                waits_for_.emplace_back(node, join);
            }
            held[i] = join;
        }
    }

    const kernels::Schedule& schedule_;
    TransferGraph& graph_;
    std::vector<std::uint32_t> bringer_;  // for rank and chunk, which node brought what is there
    std::unordered_map<std::uint64_t, Channel> channels_;     // order-free: only looked up
    std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // order-free: only looked up
    std::vector<std::pair<std::uint32_t, std::uint32_t>> waits_for_;
    std::vector<std::uint32_t> before_;
};

TransferGraph::TransferGraph(const kernels::Schedule& schedule)
    : name_(schedule.name), ranks_(schedule.ranks), chunks_(schedule.chunks) {
    INVARIANT(schedule.ranks >= 1 && schedule.chunks >= 1);
    TransferGraphBuilder(schedule, *this).build();
}

std::shared_ptr<const TransferGraph> all_reduce_graph(policies::Collective algorithm,
                                                      std::int32_t ranks, std::int32_t per_host) {
    const std::string refusal = kernels::schedule_refusal(algorithm, ranks, per_host);
    if (!refusal.empty()) throw InputError("network", "", refusal);
    return std::make_shared<const TransferGraph>(
        kernels::all_reduce_schedule(algorithm, ranks, per_host));
}

}  // namespace ukemi::sim
