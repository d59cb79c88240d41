// step_host.hpp — the event loop under all jobs of a cluster: who wakes when, what is on its way.
//
// A player is told of the moments that it asked for and of the messages that it sent, each by the
// token that it gave, in the order of time; among equal instants what was asked first comes first,
// and messages before wakes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/time_queue.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::sim {

class StepPlayer;

class StepHost {
public:
    // `seed` is of what is drawn for transfers.
    StepHost(const Topology& topology, const NetworkRule& rule, std::uint64_t seed = 0)
        : network_(topology, rule) {
        network_.seed_draws(seed);
    }

    ClusterNetwork& network() { return network_; }
    void wake(StepPlayer& player, Instant at, std::uint64_t token);
    void send(StepPlayer& player, const PlacedCollective& placed, Bytes bytes, Instant at,
              std::uint64_t token);
    // What the player has asked for and sent is forgotten: flows stop where they are.
    void forget(const StepPlayer& player);

    // Plays what happens up to `until`, or until all players, which have begun, are over.
    // InputError if a job waits for ever.
    void run(std::span<const std::unique_ptr<StepPlayer>> players, Instant until);

private:
    struct Told {  // whom, and by which token
        StepPlayer* player = nullptr;
        std::uint64_t token = 0;
        bool of_message = false;  // that needed no network, and has arrived
        bool nccl = false;        // it takes as long as NCCL's
    };

    void arrived(const NetworkEvent& event);
    Instant wakes_at();  // next; never if nobody asked

    ClusterNetwork network_;
    TimeQueue<Told> due_;
    std::map<std::uint32_t, Told> on_their_way_;  // by run
};

}  // namespace ukemi::sim
