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

PlacedCollective one_way(ClusterNetwork& network, DeviceId from, DeviceId to) {
    const std::vector<DeviceId> ends = {from, to};
    return {network, {"transfer", 2, {{{{0, 1}}, 1, 1}}}, ends};
}

}  // namespace

AsyncPlayer::AsyncPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : StepPlayer(host, job, options),
      draws_(job, host.network().topology(), options.seed),
      held_(job.servers.size()),
      workers_(job.workers.size()) {
    INVARIANT(!job.servers.empty() && !job.buckets.empty());
    INVARIANT(job.input.samples_per_second <= 0);
    for (const GradientBucket& bucket : job.buckets) {
        for (const BucketLeg& leg : bucket.legs) held_.at(leg.lane) += leg.bytes;
    }
    for (const DeviceId worker : job.workers) {
        std::vector<PlacedCollective>& from = from_server_.emplace_back();
        std::vector<PlacedCollective>& to = to_server_.emplace_back();
        for (const DeviceId server : job.servers) {
            from.push_back(one_way(host.network(), server, worker));
            to.push_back(one_way(host.network(), worker, server));
            note_links(to.back().links());
        }
    }
    result().collective = "asynchronous parameter servers";
}

void AsyncPlayer::play_step(Instant begin) {
    sums_ = {};
    if (applied_ > 0) return;  // nobody begins anew
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) fetch(rank, begin);
}

void AsyncPlayer::fetch(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    worker.since = now;
    worker.fetched_at = applied_;
    for (std::size_t server = 0; server < held_.size(); ++server) {
        if (held_[server] == Bytes{}) continue;
        ++worker.messages_left;
        host().send(*this, from_server_[rank][server], held_[server], now + job().launch.overhead,
                    token_of(AsyncToken::fetched, rank));
    }
}

void AsyncPlayer::compute(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    count(rank, now, "fetch");
    worker.computing = true;
    const auto row = static_cast<std::size_t>(worker.updates - factors_gone_);
    while (factors_.size() <= row) factors_.push_back(draws_.next_factors());
    const double pace = static_cast<double>(job().compute[rank].raw()) * factors_[row][rank];
    const Duration once = Duration::of(round_nearest(pace));
    const Instant end = now + job().accumulation * once;
    worker.messages_left = job().buckets.size();
    const double backward = pace * (1 - job().forward_share);
    for (std::uint32_t i = 0; i < job().buckets.size(); ++i) {
        const Duration early = Duration::of(round_nearest(backward * (1 - job().buckets[i].ready)));
        host().wake(*this, end - early, token_of(AsyncToken::bucket, rank, i));
    }
    host().wake(*this, end, token_of(AsyncToken::computed, rank));
}

void AsyncPlayer::woken(std::uint64_t token, Instant now) {
    const auto rank = static_cast<std::size_t>(token >> rank_bits & ((1U << 28) - 1));
    if (static_cast<AsyncToken>(token >> async_kind_bits) == AsyncToken::computed)
        return computed(rank, now);
    const std::size_t number = token & 0xffffffff;
    INVARIANT(job().buckets[number].legs.size() == 1);
    const BucketLeg& leg = job().buckets[number].legs.front();
    host().send(*this, to_server_[rank][leg.lane], leg.bytes, now + job().launch.overhead,
                token_of(AsyncToken::sent, rank));
}

void AsyncPlayer::arrived(std::uint64_t token, Instant now) {
    const auto rank = static_cast<std::size_t>(token >> rank_bits & ((1U << 28) - 1));
    Worker& worker = workers_[rank];
    if (--worker.messages_left > 0) return;
    if (static_cast<AsyncToken>(token >> async_kind_bits) == AsyncToken::fetched)
        return compute(rank, now);
    if (!worker.computing) applied(rank, now);
}

void AsyncPlayer::computed(std::size_t rank, Instant now) {
    count(rank, now, "compute");
    workers_[rank].computing = false;
    if (workers_[rank].messages_left == 0) applied(rank, now);
}

void AsyncPlayer::applied(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    count(rank, now, "send");
    const std::int64_t stale = applied_ - worker.fetched_at;
    ++applied_;
    ++worker.updates;
    JobSteps& all = result();
    all.staleness.sum += stale;
    all.staleness.most = std::max(all.staleness.most, stale);
    ++all.staleness.updates;
    const auto fewest = std::ranges::min(workers_, {}, &Worker::updates).updates;
    for (; factors_gone_ < fewest && !factors_.empty(); ++factors_gone_) {
        factors_.pop_front();
    }
    const auto count_of = static_cast<std::int64_t>(workers_.size());
    if (applied_ % count_of == 0) {
        for (std::size_t other = 0; other < workers_.size(); ++other) {
            count(other, now, workers_[other].computing ? "compute" : "exchange");
        }
        record().parts = mean_parts(sums_, count_of);
        finish_step(now);
    }
    if (is_over()) return host().forget(*this);
    fetch(rank, now);
}

void AsyncPlayer::count(std::size_t rank, Instant now, const char* what) {
    Worker& worker = workers_[rank];
    (worker.computing ? sums_.compute : sums_.exchange) += now - worker.since;
    if (record().detailed && now > worker.since) {
        record().spans.push_back({static_cast<std::int32_t>(rank), 1, what, worker.since, now});
    }
    worker.since = now;
}

}  // namespace ukemi::sim
