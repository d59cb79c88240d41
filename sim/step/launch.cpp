// launch.cpp — the three launch rules.
#include "sim/step/launch.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {

Duration negotiation_time(const LaunchRule& rule, const LaunchPeers& peers, std::int64_t tensors,
                          bool cached) {
    if (peers.workers <= 1) return {};
    const auto others = static_cast<std::int64_t>(peers.workers - 1);
    const auto rounds =
        static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(others)));
    const Duration hop = peers.latency + rule.message;
    if (cached) return 2 * rounds * hop;
    constexpr double list_s_most = 1e6;  // so that sums of it do not overflow
    const auto list_bytes =
        static_cast<double>(tensors) * static_cast<double>(rule.request_bytes.raw());
    const Duration list = seconds(std::min(list_bytes * peers.s_per_byte, list_s_most));
    return peers.latency + others * (rule.message + list + tensors * rule.request) +
           rounds * (hop + list);
}

BucketLauncher::BucketLauncher(const LaunchRule& rule, const LaunchPeers& peers)
    : rule_(rule), peers_(peers) {}

void BucketLauncher::begin_step(std::span<const GradientBucket> buckets) {
    INVARIANT(waiting_.empty() && agreeing_.empty() && queue_.empty() && in_flight_ == 0);
    buckets_ = buckets;
    ++steps_begun_;
}

// The loop of a coordinator has a beat of its own, whether anything is ready or not.
void BucketLauncher::plan_tick(Instant now) {
    if (tick_at_ || agreed_at_ || waiting_.empty()) return;
    tick_at_ = last_tick_;
    if (now > last_tick_) {
        tick_at_ = rule_.cycle == Duration{}
                       ? now
                       : last_tick_ + round_up_to(now - last_tick_, rule_.cycle);
    }
}

void BucketLauncher::bucket_ready(std::uint32_t bucket, Instant now) {
    INVARIANT(bucket < buckets_.size());
    if (rule_.kind == LaunchKind::coordinated) {
        waiting_.push_back(bucket);
        plan_tick(now);
        return;
    }
    queue_.push_back({{bucket}, buckets_[bucket].bytes});
}

void BucketLauncher::message_sent() {
    INVARIANT(in_flight_ > 0);
    --in_flight_;
}

std::optional<Instant> BucketLauncher::due_at() const { return agreed_at_ ? agreed_at_ : tick_at_; }

void BucketLauncher::due(Instant now) {
    INVARIANT(due_at() == now);
    if (!agreed_at_) {
        last_tick_ = now;
        tick_at_.reset();
        agreeing_ = std::exchange(waiting_, {});
        std::int64_t tensors = 0;
        for (const std::uint32_t bucket : agreeing_) tensors += buckets_[bucket].tensors;
        const bool cached = steps_begun_ > 1 && rule_.response_cache;
        agreed_at_ = now + negotiation_time(rule_, peers_, tensors, cached);
        return;
    }
    agreed_at_.reset();
    for (const std::uint32_t bucket : agreeing_) {
        const Bytes size = buckets_[bucket].bytes;
        const bool first = bucket == agreeing_.front();
        if (first || queue_.back().bytes + size > rule_.fusion) queue_.push_back({});
        queue_.back().buckets.push_back(bucket);
        queue_.back().bytes += size;
    }
    agreeing_.clear();
    // The next cycle begins a cycle after the last one, or now if agreeing took longer.
    last_tick_ = std::max(last_tick_ + rule_.cycle, now);
    plan_tick(now);
}

std::vector<BucketLauncher::Message> BucketLauncher::take() {
    std::vector<Message> messages;
    if (rule_.kind == LaunchKind::by_name) {
        messages = std::exchange(queue_, {});
    } else if (in_flight_ == 0 && !queue_.empty()) {
        messages.push_back(std::move(queue_.front()));
        queue_.erase(queue_.begin());
    }
    in_flight_ += messages.size();
    return messages;
}

}  // namespace ukemi::sim
