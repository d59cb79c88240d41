// due_flows.hpp — which flows are due when: a queue in which many share an instant and most change
// their minds.
//
// A bucket holds the flows that are due at one tick, in the order in which they came, and is one
// item of a TimeQueue. Collectives move in step, so one bucket often serves a thousand flows: with
// each of them in the queue, networks took 1.2 to 1.5 times as long.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time_queue.hpp"
#include "sim/network/plain_list.hpp"

namespace ukemi::sim {

class DueFlows {
public:
    using Slot = std::uint32_t;
    using Tick = std::int64_t;  // from the tick last taken on

    bool empty() const { return queue_.empty(); }
    // In place of when it was due.
    void put(Slot slot, Tick at);
    void erase(Slot slot);  // if it is due at all
    bool contains(Slot slot) const { return slot < nodes_.size() && nodes_[slot].bucket != none; }
    Tick due_at(Slot slot) const { return buckets_[nodes_[slot].bucket].at; }

    // The earliest tick of all; not empty.
    Tick next() { return queue_.next().at; }
    // Takes those due at next(), or the first part of them, in their order. They are there until
    // the next take().
    std::span<const Slot> take();
    // All ticks become less by this much.
    void shift(Tick by);

private:
    static constexpr std::uint32_t none = 0xffffffff;
    struct Node {
        Slot before = none;
        Slot after = none;
        std::uint32_t bucket = none;
    };
    struct Bucket {
        Tick at = 0;
        Slot first = none;
        Slot last = none;
        TimeQueue<std::uint32_t>::Ticket ticket;
    };
    std::uint32_t bucket_at(Tick at) {
        std::uint32_t& recent = recent_[static_cast<std::uint64_t>(at) * 0x9e3779b97f4a7c15U >> 58];
        if (recent < buckets_.size() && buckets_[recent].at == at &&
            buckets_[recent].first != none) {
            return recent;
        }
        return recent = new_bucket(at);
    }
    std::uint32_t new_bucket(Tick at);
    void take_out(Node& node);

    std::vector<Node> nodes_;
    std::vector<Bucket> buckets_;
    std::vector<std::uint32_t> free_buckets_;
    TimeQueue<std::uint32_t> queue_;          // of buckets, none of them empty
    std::array<std::uint32_t, 64> recent_{};  // buckets by a few bits of their tick
    PlainList<Slot> taken_;
};

}  // namespace ukemi::sim
