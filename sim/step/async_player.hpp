// async_player.hpp — workers of parameter servers that do not wait for each other.
//
// Each worker, over and over: fetches all variables (a flow from each server), computes, and sends
// each bucket of gradients to its server when it is ready; its update counts when the last has
// arrived. `exchange` is fetching, and sending that no computing hides. An update's staleness is
// the number of others that were applied since its worker began to fetch. Where the job has a
// transport through the hosts, a connection to each server carries both, a thread of it for each
// worker adds up what arrives, and variables and gradients are copied onto the GPU and from it.
#pragma once

#include <optional>
#include <vector>

#include "sim/step/host_transport.hpp"
#include "sim/step/update_player.hpp"

namespace ukemi::sim {

class AsyncPlayer final : public UpdatePlayer {
public:
    // The job has servers, and buckets that are placed on them.
    AsyncPlayer(StepHost& host, const StepJob& job, const StepOptions& options);

    void woken(std::uint64_t token, Instant now) override;
    void arrived(std::uint64_t token, Instant now) override;

private:
    struct Worker {
        std::size_t messages_left = 0;
        std::int64_t fetched_at = 0;  // updates that had been applied
        Instant copier_free;          // the engine that copies from its GPU
    };

    void begin_update(std::size_t rank, Instant now) override;
    void compute(std::size_t rank, Instant now);
    void computed(std::size_t rank, Instant now);
    void applied(std::size_t rank, Instant now);
    Duration copy_time(Bytes bytes) const;  // between GPU and host

    std::optional<HostTransport> there_;  // to servers, which add up what comes
    std::optional<HostTransport> back_;
    std::vector<Bytes> held_;                                 // by server
    std::vector<std::vector<PlacedCollective>> from_server_;  // by rank, by server
    std::vector<std::vector<PlacedCollective>> to_server_;
    std::vector<Worker> workers_;
};

}  // namespace ukemi::sim
