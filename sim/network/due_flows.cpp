// due_flows.cpp — buckets of flows, in the order of time.
#include "sim/network/due_flows.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

std::uint32_t DueFlows::new_bucket(Tick at) {
    if (free_buckets_.empty()) {
        free_buckets_.push_back(static_cast<std::uint32_t>(buckets_.size()));
        buckets_.emplace_back();
    }
    const std::uint32_t index = free_buckets_.back();
    free_buckets_.pop_back();
    buckets_[index] = {at, none, none, queue_.push(at, 0, index)};
    return index;
}

inline void DueFlows::take_out(Node& node) {
    Bucket& bucket = buckets_[node.bucket];
    (node.before == none ? bucket.first : nodes_[node.before].after) = node.after;
    (node.after == none ? bucket.last : nodes_[node.after].before) = node.before;
    if (bucket.first == none) {
        queue_.cancel(bucket.ticket);
        free_buckets_.push_back(node.bucket);
    }
    node.bucket = none;
}

void DueFlows::erase(Slot slot) {
    if (contains(slot)) take_out(nodes_[slot]);
}

void DueFlows::put(Slot slot, Tick at) {
    if (slot >= nodes_.size()) nodes_.resize(std::max<std::size_t>(slot + std::size_t{1}, 64));
    if (nodes_[slot].bucket != none) take_out(nodes_[slot]);
    const std::uint32_t index = bucket_at(at);
    Bucket& bucket = buckets_[index];
    nodes_[slot] = {bucket.last, none, index};
    (bucket.last == none ? bucket.first : nodes_[bucket.last].after) = slot;
    bucket.last = slot;
}

std::span<const DueFlows::Slot> DueFlows::take() {
    INVARIANT(!queue_.empty());
    free_buckets_.push_back(queue_.take());
    Bucket& bucket = buckets_[free_buckets_.back()];
    taken_.clear();
    for (Slot slot = bucket.first; slot != none;) {
        taken_.push(slot);
        Node& node = nodes_[slot];
        slot = node.after;
        node.bucket = none;
    }
    bucket.first = bucket.last = none;
    return {taken_.begin(), taken_.size()};
}

void DueFlows::shift(Tick by) {
    for (Bucket& bucket : buckets_) bucket.at -= by;
    queue_.shift(by);
}

}  // namespace ukemi::sim
