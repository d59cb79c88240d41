// async_player.hpp — workers of parameter servers that do not wait for each other.
//
// Each worker, over and over: fetches all variables (a flow from each server), computes, and sends
// each bucket of gradients to its server when it is ready; its update counts when the last has
// arrived. A "step" is as many updates as there are workers: record k ends with update (k + 1) n.
// Its parts are means of what the workers did in that time: `exchange` is fetching, and sending
// that no computing hides. An update's staleness is the number of others that were applied since
// its worker began to fetch.
#pragma once

#include <deque>
#include <vector>

#include "sim/step/step_player.hpp"

namespace ukemi::sim {

class AsyncPlayer final : public StepPlayer {
public:
    // The job has servers, and buckets that are placed on them; it has no input limit.
    AsyncPlayer(StepHost& host, const StepJob& job, const StepOptions& options);

    void woken(std::uint64_t token, Instant now) override;
    void arrived(std::uint64_t token, Instant now) override;

private:
    struct Worker {
        bool computing = false;
        Instant since;  // computing, or not
        std::size_t messages_left = 0;
        std::int64_t fetched_at = 0;  // updates that had been applied
        std::int64_t updates = 0;
    };

    void play_step(Instant begin) override;
    void fetch(std::size_t rank, Instant now);
    void compute(std::size_t rank, Instant now);
    void computed(std::size_t rank, Instant now);
    void applied(std::size_t rank, Instant now);
    // Adds what a worker has done since `since` to the sums, and to the trace.
    void count(std::size_t rank, Instant now, const char* what);

    StragglerDraws draws_;
    std::deque<std::vector<double>> factors_;  // of a worker's n-th update, by rank; the first...
    std::int64_t factors_gone_ = 0;            // ...is of this one
    std::vector<Bytes> held_;                  // by server
    std::vector<std::vector<PlacedCollective>> from_server_;  // by rank, by server
    std::vector<std::vector<PlacedCollective>> to_server_;
    std::vector<Worker> workers_;
    std::int64_t applied_ = 0;
    StepParts sums_;
};

}  // namespace ukemi::sim
