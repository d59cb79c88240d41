// live_deaths.hpp — whether it makes sense to start yet another worker in place of a dead one.
//
// A worker that dies after it has trained may have been unlucky, and so may one or two at their
// start. Deaths that no progress separates will not get better by themselves: each makes the next
// start wait longer, and a row of them ends the run. Two rows are counted: of deaths since the last
// step that had not been made before (all die at the same place), and of workers that never had a
// part in a step (all die at their start, while others may train on).
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <span>

#include "base/ids.hpp"

namespace ukemi::runtime {

class LiveDeaths {
public:
    // Of a run with up to so many workers: that all of a group are lost at once is one misfortune.
    LiveDeaths(std::int32_t workers_most, std::chrono::milliseconds first_pause)
        : row_most_(workers_most < 3 ? 8 : 3 * workers_most), first_pause_(first_pause) {}

    // These have made a step; `is_new`: it had not been made and lost before.
    void step_made(std::span<const InstanceId> members, bool is_new);
    void died(InstanceId worker);  // and nobody had ordered it

    int row() const { return row_ > beginners_ ? row_ : beginners_; }
    bool hopeless() const { return row() >= row_most_; }
    // Before the next one is started: nothing after a single death, then twice as long each time.
    std::chrono::milliseconds pause() const;

private:
    int row_most_;
    std::chrono::milliseconds first_pause_;
    int row_ = 0;        // since the last new step
    int beginners_ = 0;  // that had no part in any step, since one of them had
    std::set<InstanceId> proven_;
};

}  // namespace ukemi::runtime
