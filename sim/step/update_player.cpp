// update_player.cpp — who has made how many updates, and what the time went to.
#include "sim/step/update_player.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

UpdatePlayer::UpdatePlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : StepPlayer(host, job, options),
      draws_(job, host.network().topology(), options.seed),
      workers_(job.workers.size()) {
    INVARIANT(job.input.samples_per_second <= 0);
}

void UpdatePlayer::play_step(Instant begin) {
    sums_ = {};
    if (updates_ > 0) return;  // nobody begins anew
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
        workers_[rank].since = begin;
        begin_update(rank, begin);
    }
}

double UpdatePlayer::next_pass_ns(std::size_t rank) {
    const auto row = static_cast<std::size_t>(workers_[rank].updates - factors_gone_);
    while (factors_.size() <= row) factors_.push_back(draws_.next_factors());
    return static_cast<double>(job().compute[rank].raw()) * factors_[row][rank];
}

void UpdatePlayer::turn(std::size_t rank, bool computing, Instant now, const char* what) {
    Worker& worker = workers_[rank];
    (worker.computing ? sums_.compute : sums_.exchange) += now - worker.since;
    if (record().detailed && now > worker.since) {
        record().spans.push_back({static_cast<std::int32_t>(rank), 1, what, worker.since, now});
    }
    worker.since = now;
    worker.computing = computing;
}

void UpdatePlayer::end_update(std::size_t rank, Instant now) {
    ++updates_;
    ++workers_[rank].updates;
    const auto fewest = std::ranges::min(workers_, {}, &Worker::updates).updates;
    for (; factors_gone_ < fewest && !factors_.empty(); ++factors_gone_) factors_.pop_front();
    const auto ranks = static_cast<std::int64_t>(workers_.size());
    if (updates_ % ranks == 0) {
        for (std::size_t other = 0; other < workers_.size(); ++other) {
            const bool computing = workers_[other].computing;
            turn(other, computing, now, computing ? "compute" : "exchange");
        }
        record().parts = mean_parts(sums_, ranks);
        finish_step(now);
    }
    if (!goes_on()) return host().forget(*this);
    begin_update(rank, now);
}

}  // namespace ukemi::sim
