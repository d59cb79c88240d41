#include "kernels/nccl/nccl_order.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {

bool NcclOrder::is_turn_of(std::string_view name) const {
    if (taken_) return false;
    const bool listed = std::ranges::find(round_, name) != round_.end();
    return listed ? round_[next_] == name : next_ == 0;
}

Outcome NcclOrder::take_turn(std::string_view name, std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, deadline, [&] { return aborted_ || is_turn_of(name); });
    if (aborted_) return Outcome::aborted;
    if (!came) return Outcome::timed_out;
    taken_ = true;
    in_round_ = std::ranges::find(round_, name) != round_.end();
    return Outcome::ok;
}

void NcclOrder::done() {
    {
        const std::lock_guard lock(mutex_);
        INVARIANT(taken_);
        taken_ = false;
        if (in_round_) next_ = (next_ + 1) % round_.size();
    }
    changed_.notify_all();
}

void NcclOrder::abort() {
    {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
    }
    changed_.notify_all();
}

}  // namespace ukemi::kernels
