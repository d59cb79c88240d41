// due_flows.cpp — buckets of flows, and their heap.
#include "sim/network/due_flows.hpp"

#include <algorithm>
#include <tuple>

#include "base/invariant.hpp"

namespace ukemi::sim {

bool DueFlows::later(const Entry& a, const Entry& b) {
    return std::tie(a.at, a.bucket) > std::tie(b.at, b.bucket);
}

std::uint32_t DueFlows::bucket_at(Tick at) {
    const auto hash = static_cast<std::uint64_t>(at) * 0x9e3779b97f4a7c15U >> 58;
    std::uint32_t& recent = recent_[hash];
    if (recent < buckets_.size() && buckets_[recent].at == at && buckets_[recent].first != none) {
        return recent;
    }
    if (free_buckets_.empty()) {
        free_buckets_.push_back(static_cast<std::uint32_t>(buckets_.size()));
        buckets_.emplace_back();
    }
    recent = free_buckets_.back();
    free_buckets_.pop_back();
    buckets_[recent] = {at, none, none};
    heap_.push_back({at, recent});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return recent;
}

void DueFlows::insert(Slot slot, Tick at) {
    if (slot >= nodes_.size()) nodes_.resize(std::max<std::size_t>(slot + std::size_t{1}, 64));
    INVARIANT(nodes_[slot].bucket == none);
    const std::uint32_t index = bucket_at(at);
    Bucket& bucket = buckets_[index];
    nodes_[slot] = {bucket.last, none, index};
    (bucket.last == none ? bucket.first : nodes_[bucket.last].after) = slot;
    bucket.last = slot;
    ++flow_count_;
}

void DueFlows::erase(Slot slot) {
    Node& node = nodes_[slot];
    INVARIANT(node.bucket != none);
    Bucket& bucket = buckets_[node.bucket];
    (node.before == none ? bucket.first : nodes_[node.before].after) = node.after;
    (node.after == none ? bucket.last : nodes_[node.after].before) = node.before;
    node.bucket = none;
    --flow_count_;
    if (heap_.size() > 2 * flow_count_ + 256) forget_empty_buckets();
}

void DueFlows::forget_empty_buckets() {
    std::erase_if(heap_, [&](const Entry& entry) {
        if (buckets_[entry.bucket].first != none) return false;
        free_buckets_.push_back(entry.bucket);
        return true;
    });
    std::make_heap(heap_.begin(), heap_.end(), later);
}

void DueFlows::drop_empty() {
    while (buckets_[heap_.front().bucket].first == none) {
        free_buckets_.push_back(heap_.front().bucket);
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
    }
}

DueFlows::Tick DueFlows::next() {
    INVARIANT(flow_count_ > 0);
    drop_empty();
    return heap_.front().at;
}

void DueFlows::take(std::vector<Slot>& flows) {
    INVARIANT(flows.empty() && flow_count_ > 0);
    drop_empty();
    Bucket& bucket = buckets_[heap_.front().bucket];
    for (Slot slot = bucket.first; slot != none;) {
        flows.push_back(slot);
        Node& node = nodes_[slot];
        slot = node.after;
        node.bucket = none;
    }
    bucket.first = bucket.last = none;
    flow_count_ -= flows.size();
}

void DueFlows::shift(Tick by) {
    for (Bucket& bucket : buckets_) bucket.at -= by;
    for (Entry& entry : heap_) entry.at -= by;
}

}  // namespace ukemi::sim
