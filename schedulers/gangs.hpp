// gangs.hpp — jobs that run on all the GPUs that they ask for, or on none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "schedulers/scheduler.hpp"

namespace ukemi::schedulers {

struct Gang {
    JobId id{};
    std::int32_t gpus = 1;
    std::int64_t priority = 1;
};

// Behind all whose priority is as high, before the others.
template <class Queue>
void wait_in_line(Queue& waiting, const Gang& gang) {
    auto place = waiting.end();
    while (place != waiting.begin() && std::prev(place)->priority < gang.priority) --place;
    waiting.insert(place, gang);
}

// Those that keep what they have until they end.
class HeldGpus {
public:
    void begin(std::int32_t gpus) {
        free_ = all_ = gpus;
        held_.clear();
    }
    bool start(const Gang& gang) {  // false: it does not fit
        if (gang.gpus > free_) return false;
        free_ -= gang.gpus;
        held_.push_back(gang);
        return true;
    }
    // False: it holds none. A job may end while it has been put off: on machines that leave.
    bool end(JobId id) {
        const auto gang = std::ranges::find(held_, id, &Gang::id);
        if (gang == held_.end()) return false;
        free_ += gang->gpus;
        held_.erase(gang);
        return true;
    }
    // Of so many from now on: those that no longer fit, who started last, in the order of their
    // starts. Nobody's priority is above theirs.
    std::vector<Gang> resize(std::int32_t gpus) {
        free_ += gpus - std::exchange(all_, gpus);
        std::vector<Gang> put_off;
        while (free_ < 0) {
            free_ += held_.back().gpus;
            held_.back().priority = std::numeric_limits<std::int64_t>::max();
            put_off.insert(put_off.begin(), held_.back());
            held_.pop_back();
        }
        return put_off;
    }
    void share(Allocation& allocation) const {
        for (const Gang& gang : held_) allocation.shares.push_back({gang.id, gang.gpus});
    }

private:
    std::int32_t all_ = 0;
    std::int32_t free_ = 0;   // below 0 only within resize()
    std::vector<Gang> held_;  // in the order of their start
};

}  // namespace ukemi::schedulers
