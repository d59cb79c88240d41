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
    TransferGraphBuilder(const kernels::Schedule& schedule, TransferGraph::Order order,
                         std::int32_t window, TransferGraph& graph)
        : schedule_(schedule),
          by_steps_(order == TransferGraph::Order::steps),
          window_(window),
          graph_(graph) {
        const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
        const auto chunks = static_cast<std::uint64_t>(schedule.chunks);
        if ((!by_steps_ && ranks * chunks > cells_max) || schedule.transfers.size() > cells_max) {
            throw InputError("network", "",
                             fmt::format("{} on {} ranks is too large to be simulated chunk by "
                                         "chunk; use the fluid fidelity",
                                         schedule.name, schedule.ranks));
        }
        if (!by_steps_) bringer_.assign(static_cast<std::size_t>(ranks * chunks), nobody);
        if (by_steps_ || window_ > 0) steps_.resize(static_cast<std::size_t>(ranks));
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
        if (by_steps_) {
            wait_for_step(transfer.from, transfer.step, 1);
        } else {
            wait_for_data(transfer);
        }
        if (window_ > 0) wait_for_step(transfer.to, transfer.step, window_);
        std::sort(before_.begin(), before_.end());
        before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
        const std::uint32_t node =
            add_node({channel.edge, transfer.first_chunk, transfer.chunk_count, 0});
        channel.last = node;
        for (const std::uint32_t before : before_) waits_for_.emplace_back(before, node);
        ++graph_.transfer_count_;
        for (const std::int32_t rank : {transfer.from, transfer.to}) {
            if (!steps_.empty()) at_step(rank, transfer.step).open.push_back(node);
        }
        if (!by_steps_) arrive(transfer, node);
    }

    void wait_for_data(const kernels::Transfer& transfer) {
        const std::uint32_t* const sent = held_by(transfer.from, transfer.first_chunk);
        for (std::int32_t i = 0; i < transfer.chunk_count; ++i) {
            if (sent[i] != nobody && before_.empty()) before_.push_back(sent[i]);
            if (sent[i] != nobody && before_.back() != sent[i]) before_.push_back(sent[i]);
        }
    }

    // What a rank does, step by step. Steps of others are none of its own.
    struct RankSteps {
        std::int32_t step = -1;           // the newest
        std::vector<std::uint32_t> open;  // its transfers
        std::vector<std::uint32_t> over;  // by step before: the node that ends it and all before
    };

    RankSteps& at_step(std::int32_t rank, std::int32_t step) {
        RankSteps& steps = steps_[static_cast<std::size_t>(rank)];
        INVARIANT(steps.step <= step);
        if (steps.step == step) return steps;
        steps.step = step;
        if (steps.open.empty()) return steps;
        if (!steps.over.empty()) steps.open.push_back(steps.over.back());
        std::uint32_t end = steps.open.front();
        if (steps.open.size() > 1) {
            end = add_node({TransferGraph::join, 0, 0, 0});
            for (const std::uint32_t node : steps.open) waits_for_.emplace_back(node, end);
        }
        steps.over.push_back(end);
        steps.open.clear();
        return steps;
    }

    void wait_for_step(std::int32_t rank, std::int32_t step, std::int32_t before) {
        const std::vector<std::uint32_t>& over = at_step(rank, step).over;
        const auto back = static_cast<std::size_t>(before);
        if (over.size() >= back) before_.push_back(over[over.size() - back]);
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
    bool by_steps_;
    std::int32_t window_;
    TransferGraph& graph_;
    std::vector<RankSteps> steps_;        // by rank, if somebody waits for them
    std::vector<std::uint32_t> bringer_;  // for rank and chunk, which node brought what is there
    std::unordered_map<std::uint64_t, Channel> channels_;     // order-free: only looked up
    std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // order-free: only looked up
    std::vector<std::pair<std::uint32_t, std::uint32_t>> waits_for_;
    std::vector<std::uint32_t> before_;
};

TransferGraph::TransferGraph(const kernels::Schedule& schedule, Order order, std::int32_t window)
    : name_(schedule.name), ranks_(schedule.ranks), chunks_(schedule.chunks) {
    INVARIANT(schedule.ranks >= 1 && schedule.chunks >= 1 && window >= 0);
    TransferGraphBuilder(schedule, order, window, *this).build();
}

std::shared_ptr<const TransferGraph> all_reduce_graph(policies::Collective algorithm,
                                                      std::int32_t ranks, std::int32_t per_host,
                                                      std::int32_t window) {
    const std::string refusal = kernels::schedule_refusal(algorithm, ranks, per_host);
    if (!refusal.empty()) throw InputError("network", "", refusal);
    return std::make_shared<const TransferGraph>(
        kernels::all_reduce_schedule(algorithm, ranks, per_host), TransferGraph::Order::data,
        window);
}

}  // namespace ukemi::sim
