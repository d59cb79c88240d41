// update_player.hpp — workers that do not wait for each other: what their loops have in common.
//
// Each worker updates when it can. A "step" is as many updates as there are workers: record k ends
// with update (k + 1) n, and its parts are means of what the workers did in that time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/step/step_player.hpp"

namespace ukemi::sim {

class UpdatePlayer : public StepPlayer {
public:
    // The job has no input limit.
    UpdatePlayer(StepHost& host, const StepJob& job, const StepOptions& options);

protected:
    virtual void begin_update(std::size_t rank, Instant now) = 0;

    // What a pass takes in the update that this worker makes now, in nanoseconds.
    double next_pass_ns(std::size_t rank);
    // From now on the worker computes, or does something else. What it has done since the last call
    // for it goes to the sums, and to the trace as `what`.
    void turn(std::size_t rank, bool computing, Instant now, const char* what);
    bool is_computing(std::size_t rank) const { return workers_[rank].computing; }
    std::int64_t updates() const { return updates_; }  // of all workers
    // Counts the worker's update, ends the step with it if it is the last one's, and begins the
    // worker's next one unless all is over.
    void end_update(std::size_t rank, Instant now);

private:
    struct Worker {
        bool computing = false;
        Instant since;  // computing, or not
        std::int64_t updates = 0;
    };

    void play_step(Instant begin) final;

    StragglerDraws draws_;
    std::deque<std::vector<double>> factors_;  // of a worker's n-th update, by rank; the first...
    std::int64_t factors_gone_ = 0;            // ...is of this one
    std::vector<Worker> workers_;
    std::int64_t updates_ = 0;
    StepParts sums_;
};

}  // namespace ukemi::sim
