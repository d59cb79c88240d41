// ring_recurrence.cpp — rows of rounds, one after the other.
#include "sim/network/ring_recurrence.hpp"

#include <algorithm>

#include "base/invariant.hpp"
#include "sim/network/flow_network.hpp"

namespace ukemi::sim {
namespace {

// As FlowNetwork counts them.
NetworkTick sending_ticks(double bytes, double bandwidth) {
    const double ticks = bytes / bandwidth * FlowNetwork::ticks_per_second;
    return ticks < static_cast<double>(RingRecurrence::too_long)
               ? static_cast<NetworkTick>(ticks + 0.5)
               : RingRecurrence::too_long;
}

}  // namespace

NetworkTick RingRecurrence::round_time(std::size_t edge, double bandwidth) const {
    return edges_[edge].latency + sending_ticks(round_bytes_, bandwidth);
}

template <class Visitor>
void RingRecurrence::play(std::span<const RingEdgeNow> now, std::span<const double> bandwidths,
                          const Visitor& visit) const {
    const std::size_t count = edges_.size();
    std::vector<NetworkTick> over(count);  // the round before, by edge
    std::vector<NetworkTick> begun(count);
    std::vector<NetworkTick> next(count);
    std::vector<NetworkTick> round_time_of(count);
    std::int64_t round = rounds_;
    std::int64_t last_done = 0;
    for (std::size_t i = 0; i < count; ++i) {
        round_time_of[i] = round_time(i, bandwidths[i]);
        round = std::min(round, now[i].done);
        last_done = std::max(last_done, now[i].done);
    }
    for (; round < rounds_; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t before = edges_[i].before;
            const NetworkTick received = before == RingEdge::no_edge ? 0 : over[before];
            begun[i] = std::max(over[i], received);
            next[i] = begun[i] + round_time_of[i];
        }
        for (std::size_t i = 0; i < count && round <= last_done; ++i) {
            if (round < now[i].done) next[i] = begun[i] = 0;
            if (round != now[i].done || !now[i].sending) continue;
            begun[i] = 0;
            next[i] = now[i].latency_left + sending_ticks(now[i].bytes_left, bandwidths[i]);
        }
        over.swap(next);
        if (!visit(round, begun, over)) return;
    }
}

// Each edge sends one round after another. From the beginning the slowest never waits: the one
// before it is as fast or faster.
NetworkTick RingRecurrence::ends_not_before(std::span<const RingEdgeNow> now,
                                            std::span<const double> bandwidths) const {
    NetworkTick latest = 0;
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        const NetworkTick one = round_time(i, bandwidths[i]);
        if (one > too_long / rounds_) return too_long;
        NetworkTick end = (rounds_ - now[i].done) * one;
        if (now[i].sending) {
            end += now[i].latency_left + sending_ticks(now[i].bytes_left, bandwidths[i]) - one;
        }
        latest = std::max(latest, end);
    }
    return latest;
}

NetworkTick RingRecurrence::ends_after(std::span<const RingEdgeNow> now,
                                       std::span<const double> bandwidths) const {
    NetworkTick end = 0;
    play(now, bandwidths, [&](std::int64_t round, const auto&, const auto& over) {
        if (round + 1 == rounds_) end = *std::max_element(over.begin(), over.end());
        return true;
    });
    return end;
}

void RingRecurrence::advance(std::span<RingEdgeNow> now, std::span<const double> bandwidths,
                             NetworkTick by) const {
    std::vector<RingEdgeNow> then(now.begin(), now.end());
    std::size_t left = now.size();
    std::vector<bool> found(now.size());
    play(now, bandwidths, [&](std::int64_t round, const auto& begun, const auto& over) {
        for (std::size_t i = 0; i < over.size(); ++i) {
            if (found[i] || round < now[i].done) continue;
            if (over[i] <= by) {
                then[i] = {round + 1};
                continue;
            }
            found[i] = true;
            --left;
            if (begun[i] > by) continue;  // it waits
            const bool before = round == now[i].done && now[i].sending;
            RingEdgeNow edge =
                before ? now[i] : RingEdgeNow{round, true, edges_[i].latency, round_bytes_};
            const NetworkTick past = by - begun[i];
            const NetworkTick moving = std::max<NetworkTick>(0, past - edge.latency_left);
            edge.latency_left = std::max<NetworkTick>(0, edge.latency_left - past);
            edge.bytes_left -=
                bandwidths[i] * (static_cast<double>(moving) / FlowNetwork::ticks_per_second);
            edge.bytes_left = std::max(0.0, edge.bytes_left);
            then[i] = edge;
        }
        return left > 0;
    });
    std::ranges::copy(then, now.begin());
}

}  // namespace ukemi::sim
