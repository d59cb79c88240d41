// data_parallel_player.cpp — one pass of all workers, as long as the slowest one's.
#include "sim/step/data_parallel_player.hpp"

#include <algorithm>

#include "sim/step/gradient_lanes.hpp"
#include "sim/step/variable_update.hpp"

namespace ukemi::sim {
namespace {

// Tokens: those of buckets that are ready, the ends of the pass, of measuring and of the update,
// the sender's.
constexpr std::uint64_t computed_token = std::uint64_t{1} << 32;
constexpr std::uint64_t measured_token = computed_token + 1;
constexpr std::uint64_t updated_token = computed_token + 2;
constexpr std::uint64_t sender_tokens = std::uint64_t{2} << 32;

}  // namespace

DataParallelPlayer::DataParallelPlayer(StepHost& host, const StepJob& job,
                                       const StepOptions& options)
    : StepPlayer(host, job, options), draws_(job, host.network().topology(), options.seed) {
    if (job.buckets.empty() || (job.workers.size() < 2 && job.servers.empty())) return;
    ClusterNetwork& network = host.network();
    std::vector<GradientLane> lanes = job.servers.empty()
                                          ? gradient_lanes(network, job, {{job.workers}})
                                          : server_lanes(network, job);
    result().collective = lanes.front().front().name();
    for (const GradientLane& lane : lanes) {
        for (const PlacedCollective& one : lane) note_links(one.links());
    }
    for (const GradientBucket& bucket : job.buckets) encoding_ += bucket.encode;
    sender_.emplace(host, *this, job.launch, job.buckets, std::move(lanes),
                    launch_peers(network, job.launch, job.workers), sender_tokens);
}

void DataParallelPlayer::play_step(Instant begin) {
    const std::vector<Duration> computing = draws_.next(job());
    Duration all;
    for (const Duration one : computing) all += one;
    const Duration longest = std::ranges::max(computing);
    StepParts& parts = record().parts;
    parts.compute = Duration::of(all.raw() / static_cast<std::int64_t>(computing.size()));
    parts.straggler = longest - parts.compute;
    if (record().detailed) record().computing = computing;
    set_computed_at(begin + longest + encoding_);
    computed_ = false;
    updating_ = false;
    gathered_at_.reset();
    if (sender_) plan_buckets(begin + longest, longest);
    host().wake(*this, computed_at(), computed_token);
}

// `computed`: when all would have, were nothing encoded.
void DataParallelPlayer::plan_buckets(Instant computed, Duration longest) {
    sender_->begin_step();
    // Counted from the end, so that what is ready last is so when the slowest has computed.
    const double last_pass = static_cast<double>(longest.raw()) /
                             static_cast<double>(job().accumulation) * (1 - job().forward_share);
    Duration encoded;
    for (std::uint32_t i = 0; i < job().buckets.size(); ++i) {
        const GradientBucket& bucket = job().buckets[i];
        const Duration early = Duration::of(round_nearest(last_pass * (1 - bucket.ready)));
        encoded += bucket.encode;
        host().wake(*this, computed - early + encoded, i);
    }
}

void DataParallelPlayer::woken(std::uint64_t token, Instant now) {
    if (token >= sender_tokens) {
        sender_->woken(token, now);
    } else if (token == updated_token) {
        return finish_step(now);
    } else if (token == computed_token) {
        computed_ = true;
    } else if (token != measured_token) {
        sender_->bucket_ready(static_cast<std::uint32_t>(token), now);
    }
    end_if_done(now);
}

void DataParallelPlayer::arrived(std::uint64_t token, Instant now) {
    sender_->arrived(token, now);
    end_if_done(now);
}

void DataParallelPlayer::end_if_done(Instant now) {
    if (!computed_ || updating_ || (sender_ && !sender_->all_arrived())) return;
    if (!gathered_at_) {
        gathered_at_ = now;
        if (job().monitoring > Duration{}) {
            host().wake(*this, now + job().monitoring, measured_token);
        }
    }
    if (now < *gathered_at_ + job().monitoring) return;
    const StepParts exposed_parts = exposed(*gathered_at_);
    StepParts& parts = record().parts;
    parts.compute += job().monitoring;
    parts.sending = exposed_parts.sending;
    parts.coding = exposed_parts.coding + encoding_;
    parts.agreeing = exposed_parts.agreeing;
    // Every worker all parameters; the step ends with the slowest.
    const Duration longest = job().longest_update();
    if (longest == Duration{}) return finish_step(now);
    Duration all;
    for (const Duration own : job().update) all += own;
    const Duration mean = Duration::of(all.raw() / static_cast<std::int64_t>(job().workers.size()));
    parts.compute += mean;
    parts.straggler += longest - mean;
    updating_ = true;
    host().wake(*this, now + longest, updated_token);
}

}  // namespace ukemi::sim
