// recorded_group.cpp — recorded machines, by what happened to each.
#include "sim/market/recorded_group.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/invariant.hpp"

namespace ukemi::sim {

RecordedGroup recorded_group(std::span<const traces::NodeEvent> events) {
    RecordedGroup group;
    std::map<std::string_view, std::uint32_t> there;
    for (const traces::NodeEvent& event : events) {
        if (event.joined) {
            there[event.node] = static_cast<std::uint32_t>(group.machines.size());
            group.machines.push_back({event.at});
        } else {
            const std::uint32_t machine = there.at(event.node);
            group.machines[machine].until = event.at;
            group.losses.push_back(machine);
        }
    }
    return group;
}

void end_all(RecordedGroup& group, Instant at) {
    for (std::uint32_t machine = 0; machine < group.machines.size(); ++machine) {
        if (group.machines[machine].until < Instant::never()) continue;
        group.machines[machine].until = at;
        group.losses.push_back(machine);
    }
}

RecordedGroup begun_later(const RecordedGroup& group, Duration start) {
    RecordedGroup rest;
    std::vector<std::uint32_t> numbers(group.machines.size());
    const Instant begin = Instant::at(start);
    for (std::size_t machine = 0; machine < group.machines.size(); ++machine) {
        const auto [from, until] = group.machines[machine];
        if (until <= begin) continue;
        numbers[machine] = static_cast<std::uint32_t>(rest.machines.size());
        const bool stays = until == Instant::never();
        rest.machines.push_back(
            {std::max(from, begin) - start, stays ? Instant::never() : until - start});
    }
    for (const std::uint32_t machine : group.losses) {
        if (group.machines[machine].until > begin) rest.losses.push_back(numbers[machine]);
    }
    return rest;
}

void GroupCursor::advance(Instant now) {
    gone_.resize(group_->machines.size());
    for (; came_ < group_->machines.size() && group_->machines[came_].from <= now; ++came_) {
        if (!gone_[came_]) free_.push_back(static_cast<std::uint32_t>(came_));
    }
}

std::uint32_t GroupCursor::take_free() {
    INVARIANT(!free_.empty());
    const std::uint32_t machine = free_.front();
    free_.erase(free_.begin());
    return machine;
}

void GroupCursor::give_back(std::uint32_t machine) {
    if (gone_[machine]) return;
    free_.insert(std::ranges::lower_bound(free_, machine), machine);
}

Instant GroupCursor::next_loss_announced(Duration notice) const {
    if (lost_ == group_->losses.size()) return Instant::never();
    const Instant at = lost_at(group_->losses[lost_]);
    return at.since_start() > notice ? at - notice : Instant{};
}

std::uint32_t GroupCursor::lose_next() {
    const std::uint32_t machine = group_->losses[lost_++];
    gone_.resize(group_->machines.size());
    gone_[machine] = true;
    std::erase(free_, machine);
    return machine;
}

}  // namespace ukemi::sim
