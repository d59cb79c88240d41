// gradient_sender.cpp — a message's way: leg after leg, then decoded.
#include "sim/step/gradient_sender.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {

std::vector<BucketLeg> legs_of(std::span<const GradientBucket> buckets,
                               std::span<const std::uint32_t> chosen) {
    std::map<std::pair<std::size_t, std::uint32_t>, Bytes> sums;  // by place and lane
    for (const std::uint32_t number : chosen) {
        const GradientBucket& bucket = buckets[number];
        if (bucket.legs.empty()) sums[{0, 0}] += bucket.bytes;
        for (std::size_t place = 0; place < bucket.legs.size(); ++place) {
            sums[{place, bucket.legs[place].lane}] += bucket.legs[place].bytes;
        }
    }
    std::vector<BucketLeg> legs;
    for (const auto& [where, bytes] : sums) legs.push_back({where.second, bytes});
    return legs;
}

LaunchPeers launch_peers(ClusterNetwork& network, const LaunchRule& rule,
                         std::span<const DeviceId> workers) {
    LaunchPeers peers{workers.size(), {}, 0};
    if (rule.kind != LaunchKind::coordinated) return peers;
    Routes& routes = network.routes();
    for (const DeviceId worker : workers.subspan(1)) {
        peers.latency = std::max(peers.latency, routes.latency(worker, workers[0]));
        for (const LinkId link : routes.route(worker, workers[0])) {
            const double rate = network.topology().link(link).bandwidth.raw();
            peers.s_per_byte = std::max(peers.s_per_byte, 1 / rate);
        }
    }
    return peers;
}

GradientSender::GradientSender(StepHost& host, StepPlayer& owner, const LaunchRule& rule,
                               std::span<const GradientBucket> buckets,
                               std::vector<GradientLane> lanes, const LaunchPeers& peers,
                               std::uint64_t tokens)
    : host_(host),
      owner_(owner),
      rule_(rule),
      launcher_(rule, peers),
      buckets_(buckets),
      lanes_(std::move(lanes)),
      tokens_(tokens) {}

void GradientSender::begin_step() {
    INVARIANT(messages_.empty() && buckets_left_ == 0);
    launcher_.begin_step(buckets_);
    buckets_left_ = buckets_.size();
    message_count_ = 0;
}

void GradientSender::bucket_ready(std::uint32_t bucket, Instant now) {
    launcher_.bucket_ready(bucket, now);
    go_on(now);
}

void GradientSender::woken(std::uint64_t token, Instant now) {
    const std::uint64_t what = token - tokens_;
    if (what == launcher_token) {
        if (launcher_.due_at() != now) return;  // told something meanwhile
        launcher_at_.reset();                   // it may be due at this very moment again
        launcher_.due(now);
        return go_on(now);
    }
    INVARIANT((what & decoded_bit) != 0);
    owner_.messages_changed(now, 0, -1);
    end(static_cast<std::uint32_t>(what & ~decoded_bit));
}

void GradientSender::arrived(std::uint64_t token, Instant now) {
    const auto number = static_cast<std::uint32_t>(token - tokens_);
    Message& message = messages_.at(number);
    if (--message.flights > 0) return;
    if (++message.leg < message.legs.size()) return start_leg(number, now);
    message.note.end = now;
    const bool coded = message.decode > Duration{};
    --on_the_network_;
    owner_.messages_changed(now, -1, coded ? 1 : 0);
    if (coded) {
        host_.wake(owner_, decoded_at(now, message.decode), tokens_ + (number | decoded_bit));
    } else {
        end(number);
    }
    launcher_.message_sent();  // the next one does not wait until this is decoded
    go_on(now);
}

void GradientSender::go_on(Instant now) {
    for (BucketLauncher::Message& message : launcher_.take()) start(std::move(message), now);
    const std::optional<Instant> due = launcher_.due_at();
    if (due && due != launcher_at_) host_.wake(owner_, *due, tokens_ + launcher_token);
    launcher_at_ = due;
}

void GradientSender::start(BucketLauncher::Message launched, Instant now) {
    const std::uint32_t number = message_count_++;
    Message& message = messages_[number];
    message.legs = legs_of(buckets_, launched.buckets);
    std::int64_t tensors = 0;
    for (const std::uint32_t bucket : launched.buckets) {
        message.decode += buckets_[bucket].decode;
        tensors += buckets_[bucket].tensors;
    }
    message.copy_s_per_byte = rule_.copy_s_per_byte + (tensors > 1 ? rule_.buffer_s_per_byte : 0);
    Bytes sent;
    for (const BucketLeg& leg : message.legs) sent += leg.bytes;
    message.note = {buckets_[launched.buckets.front()].name,
                    static_cast<std::int64_t>(launched.buckets.size()),
                    sent,
                    now,
                    {}};
    message.buckets = std::move(launched.buckets);
    ++on_the_network_;
    owner_.messages_changed(now, 1, 0);
    start_leg(number, now);
}

void GradientSender::start_leg(std::uint32_t number, Instant now) {
    Message& message = messages_.at(number);
    const BucketLeg& leg = message.legs[message.leg];
    const GradientLane& lane = lanes_[leg.lane];
    INVARIANT(!lane.empty());
    message.flights = lane.size();
    // Half of the copies are on the way there: messages in the air at once take turns on the bus.
    const double copies_s = static_cast<double>(leg.bytes.raw()) * message.copy_s_per_byte;
    const Duration copies = seconds(copies_s);
    const Duration there = seconds(copies_s / 2);
    copier_free_ = std::max(copier_free_, now + rule_.overhead) + there;
    const Instant begin = copier_free_ + (copies - there);
    for (const PlacedCollective& one : lane) {
        host_.send(owner_, one, leg.bytes, begin, tokens_ + number);
    }
}

void GradientSender::end(std::uint32_t number) {
    auto node = messages_.extract(number);
    Message& message = node.mapped();
    buckets_left_ -= message.buckets.size();
    owner_.note_message(std::move(message.note));
}

Instant GradientSender::decoded_at(Instant now, Duration time) {
    decoder_free_ = std::max({decoder_free_, now, owner_.computed_at()}) + time;
    return decoder_free_;
}

}  // namespace ukemi::sim
