// live_deaths.cpp — the two rows of deaths, and what follows from them.
#include "runtime/live_deaths.hpp"

#include <algorithm>

namespace ukemi::runtime {

void LiveDeaths::step_made(std::span<const InstanceId> members, bool is_new) {
    if (is_new) row_ = 0;
    for (const InstanceId member : members) {
        if (proven_.insert(member).second) beginners_ = 0;
    }
}

void LiveDeaths::died(InstanceId worker) {
    ++row_;
    if (proven_.erase(worker) == 0) ++beginners_;
}

std::chrono::milliseconds LiveDeaths::pause() const {
    constexpr int eighths = 8;  // of the way to the end: a large group dies faster
    constexpr int longest = 50;
    const int misfortunes = row() * eighths / row_most_;
    if (misfortunes < 2) return std::chrono::milliseconds(0);
    return first_pause_ * std::min(1 << (misfortunes - 2), longest);
}

}  // namespace ukemi::runtime
