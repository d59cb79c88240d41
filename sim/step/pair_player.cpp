// pair_player.cpp — as many loops as workers, each of which waits for its own two things.
#include "sim/step/pair_player.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

enum class PairToken : std::uint8_t { fetched, computed, updated };
constexpr int pair_kind_bits = 60;
std::uint64_t token_of(PairToken kind, std::size_t rank) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << pair_kind_bits | rank;
}

}  // namespace

PairPlayer::PairPlayer(StepHost& host, const StepJob& job, const StepOptions& options)
    : UpdatePlayer(host, job, options),
      partners_(options.seed, "partners/" + job.name),
      fetching_(job.workers.size()) {
    INVARIANT(job.pair_model > Bytes{} && job.workers.size() > 1);
    if (job.hosts) {
        hosts_ = *job.hosts;
    } else {
        hosts_.connection = HostTransport::unbounded;
        hosts_.device = HostTransport::unbounded;
        ClusterNetwork& network = host.network();
        for (const DeviceId worker : job.workers) {
            const DeviceId socket = socket_of(network.topology(), network.routes(), worker);
            if (socket == worker) continue;
            hosts_.device =
                std::min(hosts_.device, network.routes().bandwidth(worker, socket).raw());
        }
    }
    hosts_.sum = HostTransport::unbounded;  // nothing is added up on the way
    copy_ = seconds(static_cast<double>(job.pair_model.raw()) / hosts_.device);
    result().collective = "pair averaging: the model of one other, asked anew each time";
}

const PlacedCollective& PairPlayer::between(std::size_t from, std::size_t to) {
    const auto key = std::pair(from, to);
    const auto known = placed_.find(key);
    if (known != placed_.end()) return known->second;
    const std::vector<DeviceId> ends = {job().workers[from], job().workers[to]};
    const PhasedCollective transfer = {"transfer", 2, {{{{0, 1}}, 1, 1}}};
    const auto made =
        placed_.try_emplace(key, host().network(), transfer, ends, 1, &hosts_, job().name);
    note_links(made.first->second.links());
    return made.first->second;
}

void PairPlayer::begin_update(std::size_t rank, Instant now) {
    // As KungFu draws: any rank, and the next one in place of oneself.
    const std::size_t ranks = fetching_.size();
    auto other =
        static_cast<std::size_t>(partners_.integer(0, static_cast<std::int64_t>(ranks) - 1));
    if (other == rank) other = (rank + 1) % ranks;
    turn(rank, true, now, "exchange");
    fetching_[rank] = true;
    host().send(*this, between(other, rank), job().pair_model, now + job().launch.overhead,
                token_of(PairToken::fetched, rank));
    const Duration once = Duration::of(round_nearest(next_pass_ns(rank)));
    host().wake(*this, now + job().accumulation * once + job().update_of(rank),
                token_of(PairToken::computed, rank));
}

void PairPlayer::arrived(std::uint64_t token, Instant now) {
    host().wake(*this, now + copy_, token);  // onto the GPU
}

void PairPlayer::woken(std::uint64_t token, Instant now) {
    const auto rank = static_cast<std::size_t>(token & 0xffffffff);
    switch (static_cast<PairToken>(token >> pair_kind_bits)) {
        case PairToken::fetched: fetching_[rank] = false; break;
        case PairToken::computed: turn(rank, false, now, "compute"); break;
        case PairToken::updated: {
            turn(rank, false, now, "exchange");
            return end_update(rank, now);
        }
    }
    if (!is_computing(rank) && !fetching_[rank]) {
        host().wake(*this, now + copy_, token_of(PairToken::updated, rank));
    }
}

}  // namespace ukemi::sim
