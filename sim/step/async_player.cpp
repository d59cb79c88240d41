// async_player.cpp — as many loops as workers, and a count of what the servers have applied.
#include "sim/step/async_player.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

// Tokens: what, of which worker, and which bucket.
enum class AsyncToken : std::uint8_t { fetched, computed, bucket, sent };
constexpr int async_kind_bits = 60;
constexpr int rank_bits = 32;
std::uint64_t token_of(AsyncToken kind, std::size_t rank, std::uint64_t bucket = 0) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << async_kind_bits |
           std::uint64_t{rank} << rank_bits | bucket;
}

PlacedCollective one_way(ClusterNetwork& network, DeviceId from, DeviceId to,
                         const std::optional<HostTransport>& hosts, std::string_view job) {
    const std::vector<DeviceId> ends = {from, to};
    return {network, {"transfer", 2, {{{{0, 1}}, 1, 1}}}, ends, 1, hosts ? &*hosts : nullptr, job};
}

}  // namespace

AsyncPlayer::AsyncPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : UpdatePlayer(host, job, options),
      there_(job.hosts),
      back_(job.hosts),
      held_(job.servers.size()),
      workers_(job.workers.size()) {
    INVARIANT(!job.servers.empty() && !job.buckets.empty());
    // HostTransport adds up half of what passes, as ranks of an all-reduce do: servers add up all
    // of what comes, and nothing of what goes.
    if (there_) there_->sum /= 2;
    if (back_) back_->sum = HostTransport::unbounded;
    for (const GradientBucket& bucket : job.buckets) {
        for (const BucketLeg& leg : bucket.legs) held_.at(leg.lane) += leg.bytes;
    }
    for (const DeviceId worker : job.workers) {
        std::vector<PlacedCollective>& from = from_server_.emplace_back();
        std::vector<PlacedCollective>& to = to_server_.emplace_back();
        for (const DeviceId server : job.servers) {
            from.push_back(one_way(host.network(), server, worker, back_, job.name));
            to.push_back(one_way(host.network(), worker, server, there_, job.name));
            note_links(to.back().links());
        }
    }
    result().collective = "asynchronous parameter servers";
}

Duration AsyncPlayer::copy_time(Bytes bytes) const {
    return job().hosts ? seconds(static_cast<double>(bytes.raw()) / job().hosts->device)
                       : Duration{};
}

void AsyncPlayer::begin_update(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    worker.fetched_at = updates();
    for (std::size_t server = 0; server < held_.size(); ++server) {
        if (held_[server] == Bytes{}) continue;
        ++worker.messages_left;
        host().send(*this, from_server_[rank][server], held_[server], now + job().launch.overhead,
                    token_of(AsyncToken::fetched, rank));
    }
}

void AsyncPlayer::compute(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    turn(rank, true, now, "fetch");
    const double pace = next_pass_ns(rank);
    const Duration once = Duration::of(round_nearest(pace));
    const Instant end = now + job().accumulation * once;
    worker.messages_left = job().buckets.size();
    const double backward = pace * (1 - job().forward_share);
    for (std::uint32_t i = 0; i < job().buckets.size(); ++i) {
        const Duration early = Duration::of(round_nearest(backward * (1 - job().buckets[i].ready)));
        host().wake(*this, end - early, token_of(AsyncToken::bucket, rank, i));
    }
    host().wake(*this, end + job().update_of(rank), token_of(AsyncToken::computed, rank));
}

void AsyncPlayer::woken(std::uint64_t token, Instant now) {
    const auto rank = static_cast<std::size_t>(token >> rank_bits & ((1U << 28) - 1));
    switch (static_cast<AsyncToken>(token >> async_kind_bits)) {
        case AsyncToken::fetched: return compute(rank, now);
        case AsyncToken::computed: return computed(rank, now);
        default: break;
    }
    const std::size_t number = token & 0xffffffff;
    INVARIANT(job().buckets[number].legs.size() == 1);
    const BucketLeg& leg = job().buckets[number].legs.front();
    // Copies of messages in the air at once take turns.
    Instant& copied = workers_[rank].copier_free;
    copied = std::max(copied, now + job().launch.overhead) + copy_time(leg.bytes);
    host().send(*this, to_server_[rank][leg.lane], leg.bytes, copied,
                token_of(AsyncToken::sent, rank));
}

void AsyncPlayer::arrived(std::uint64_t token, Instant now) {
    const auto rank = static_cast<std::size_t>(token >> rank_bits & ((1U << 28) - 1));
    if (--workers_[rank].messages_left > 0) return;
    if (static_cast<AsyncToken>(token >> async_kind_bits) != AsyncToken::fetched) {
        if (!is_computing(rank)) applied(rank, now);
    } else if (job().hosts) {
        Bytes all;
        for (const Bytes bytes : held_) all += bytes;
        host().wake(*this, now + copy_time(all), token_of(AsyncToken::fetched, rank));
    } else {
        compute(rank, now);
    }
}

void AsyncPlayer::computed(std::size_t rank, Instant now) {
    turn(rank, false, now, "compute");
    if (workers_[rank].messages_left == 0) applied(rank, now);
}

void AsyncPlayer::applied(std::size_t rank, Instant now) {
    turn(rank, false, now, "send");
    const std::int64_t stale = updates() - workers_[rank].fetched_at;
    Staleness& all = record().staleness;
    all.sum += stale;
    all.most = std::max(all.most, stale);
    ++all.updates;
    end_update(rank, now);
}

}  // namespace ukemi::sim
