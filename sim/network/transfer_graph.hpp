// transfer_graph.hpp — a schedule with what its transfers wait for written out.
//
// A transfer waits until its sender holds what it sends: the transfers that brought it there, and
// those that these added to; and until the transfer before it on the same channel between the same
// two ranks is over. Receivers have room for whatever arrives, or a window: a rank then takes what
// comes in one of its steps only when all that it sends and receives up to `window` steps before is
// over; with 1, when it has come to that step itself. Where several arrivals make up what
// is sent, a join stands between them and all that wait for them, so the graph grows with the
// schedule and not with (arrivals × departures).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/schedule.hpp"

namespace ukemi::sim {

class TransferGraph {
public:
    struct Edge {  // two ranks between which something is sent
        std::int32_t from = 0;
        std::int32_t to = 0;
    };
    struct Node {
        std::uint32_t edge = 0;  // or `join`
        std::int32_t first_chunk = 0;
        std::int32_t chunk_count = 0;
        std::uint32_t successors_begin = 0;
    };
    static constexpr std::uint32_t join = 0xffffffff;

    // What a transfer waits for, besides the one before it on its channel: that its sender holds
    // the data; or that all is over which its sender sends and receives in its steps before.
    enum class Order : std::uint8_t { data, steps };
    // `window` 0: receivers have room for everything. InputError if the schedule is too large to be
    // played chunk by chunk.
    explicit TransferGraph(const kernels::Schedule& schedule, Order order = Order::data,
                           std::int32_t window = 0);

    const std::string& name() const { return name_; }
    std::int32_t ranks() const { return ranks_; }
    std::int32_t chunks() const { return chunks_; }
    std::size_t transfer_count() const { return transfer_count_; }
    std::span<const Edge> edges() const { return edges_; }
    // Transfers and joins; a predecessor comes before its successors.
    std::size_t node_count() const { return waits_.size(); }
    const Node& node(std::size_t index) const { return nodes_[index]; }
    std::span<const std::uint32_t> successors(std::size_t index) const {
        const std::uint32_t begin = nodes_[index].successors_begin;
        return {successors_.data() + begin, nodes_[index + 1].successors_begin - begin};
    }
    // For how many others each node waits.
    std::span<const std::uint32_t> waits() const { return waits_; }

private:
    friend class TransferGraphBuilder;
    std::string name_;
    std::int32_t ranks_ = 1;
    std::int32_t chunks_ = 1;
    std::size_t transfer_count_ = 0;
    std::vector<Edge> edges_;
    std::vector<Node> nodes_;  // and one that ends the last one's successors
    std::vector<std::uint32_t> successors_;
    std::vector<std::uint32_t> waits_;
};

// The all-reduce of a Plan. InputError, with schedule_refusal's sentence, if it cannot run on so
// many ranks, `per_host` on each host (0: all on one).
std::shared_ptr<const TransferGraph> all_reduce_graph(policies::Collective algorithm,
                                                      std::int32_t ranks, std::int32_t per_host = 0,
                                                      std::int32_t window = 0);

}  // namespace ukemi::sim
