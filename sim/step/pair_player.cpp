// pair_player.cpp — as many loops as workers, each of which waits for its own two things.
#include "sim/step/pair_player.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

enum class PairToken : std::uint8_t { fetched, computed, updated };
constexpr int pair_kind_bits = 60;
constexpr double unbounded = 1e15;  // bytes a second
std::uint64_t token_of(PairToken kind, std::size_t rank) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << pair_kind_bits | rank;
}

}  // namespace

PairPlayer::PairPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : StepPlayer(host, job, options),
      draws_(job, host.network().topology(), options.seed),
      partners_(options.seed, "partners/" + job.name),
      workers_(job.workers.size()) {
    INVARIANT(job.pair_model > Bytes{} && job.workers.size() > 1);
    INVARIANT(job.input.samples_per_second <= 0);
    if (job.hosts) {
        hosts_ = *job.hosts;
    } else {
        hosts_.connection = unbounded;
    }
    hosts_.sum = unbounded;  // nothing is added up on the way
    copy_ = seconds(static_cast<double>(job.pair_model.raw()) / hosts_.device);
    result().collective = "pair averaging: the model of one other, asked anew each time";
}

const PlacedCollective& PairPlayer::between(std::size_t from, std::size_t to) {
    const auto key = std::pair(from, to);
    const auto known = placed_.find(key);
    if (known != placed_.end()) return known->second;
    const std::vector<DeviceId> ends = {job().workers[from], job().workers[to]};
    const PhasedCollective transfer = {"transfer", 2, {{{{0, 1}}, 1, 1}}};
    const auto made = placed_.try_emplace(key, host().network(), transfer, ends, 1, &hosts_);
    note_links(made.first->second.links());
    return made.first->second;
}

void PairPlayer::play_step(Instant begin) {
    sums_ = {};
    if (updates_ > 0) return;  // nobody begins anew
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) begin_update(rank, begin);
}

void PairPlayer::begin_update(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    // As KungFu draws: any rank, and the next one in place of oneself.
    const auto ranks = static_cast<std::int64_t>(workers_.size());
    auto other = static_cast<std::size_t>(partners_.integer(0, ranks - 1));
    if (other == rank) other = (rank + 1) % workers_.size();
    worker.since = now;
    worker.computing = worker.fetching = true;
    host().send(*this, between(other, rank), job().pair_model, now + job().launch.overhead,
                token_of(PairToken::fetched, rank));
    const auto row = static_cast<std::size_t>(worker.updates - factors_gone_);
    while (factors_.size() <= row) factors_.push_back(draws_.next_factors());
    const double once = static_cast<double>(job().compute[rank].raw()) * factors_[row][rank];
    host().wake(*this, now + job().accumulation * Duration::of(round_nearest(once)),
                token_of(PairToken::computed, rank));
}

void PairPlayer::arrived(std::uint64_t token, Instant now) {
    host().wake(*this, now + copy_, token);  // onto the GPU
}

void PairPlayer::woken(std::uint64_t token, Instant now) {
    const auto rank = static_cast<std::size_t>(token & 0xffffffff);
    Worker& worker = workers_[rank];
    switch (static_cast<PairToken>(token >> pair_kind_bits)) {
        case PairToken::fetched: worker.fetching = false; break;
        case PairToken::computed:
            count(rank, now);
            worker.computing = false;
            break;
        case PairToken::updated: return updated(rank, now);
    }
    if (!worker.computing && !worker.fetching) {
        host().wake(*this, now + copy_, token_of(PairToken::updated, rank));
    }
}

void PairPlayer::updated(std::size_t rank, Instant now) {
    count(rank, now);
    ++updates_;
    ++workers_[rank].updates;
    const auto fewest = std::ranges::min(workers_, {}, &Worker::updates).updates;
    for (; factors_gone_ < fewest && !factors_.empty(); ++factors_gone_) factors_.pop_front();
    const auto ranks = static_cast<std::int64_t>(workers_.size());
    if (updates_ % ranks == 0) {
        for (std::size_t other = 0; other < workers_.size(); ++other) count(other, now);
        record().parts = mean_parts(sums_, ranks);
        finish_step(now);
    }
    if (is_over()) return host().forget(*this);
    begin_update(rank, now);
}

void PairPlayer::count(std::size_t rank, Instant now) {
    Worker& worker = workers_[rank];
    (worker.computing ? sums_.compute : sums_.exchange) += now - worker.since;
    if (record().detailed && now > worker.since) {
        record().spans.push_back({static_cast<std::int32_t>(rank), 1,
                                  worker.computing ? "compute" : "exchange", worker.since, now});
    }
    worker.since = now;
}

}  // namespace ukemi::sim
