// pair_player.hpp — workers that average with one other each (AD-PSGD; KungFu's pair averaging).
//
// Each worker, over and over: asks another, drawn anew, for its whole model, computes meanwhile,
// and once it has both, averages, updates, and copies its model to its host, from where others take
// it. Who is asked does not stop for that. A model goes from host to host, over one connection, and
// over the bus of the GPU that asked for it: at the job's transport, or, without one, as fast as
// the wire. `exchange` is waiting for the other's model, and copying one's own.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "sim/step/update_player.hpp"

namespace ukemi::sim {

class PairPlayer final : public UpdatePlayer {
public:
    // The job has a pair_model, two workers at least, and no input limit.
    PairPlayer(StepHost& host, const StepJob& job, const StepOptions& options);

    void woken(std::uint64_t token, Instant now) override;
    void arrived(std::uint64_t token, Instant now) override;

private:
    void begin_update(std::size_t rank, Instant now) override;
    const PlacedCollective& between(std::size_t from, std::size_t to);

    RandomStream partners_;
    HostTransport hosts_;
    Duration copy_;  // of a model between GPU and host
    std::map<std::pair<std::size_t, std::size_t>, PlacedCollective> placed_;
    std::vector<bool> fetching_;  // by rank
};

}  // namespace ukemi::sim
