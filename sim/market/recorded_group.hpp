// recorded_group.hpp — a group whose machines were recorded one by one: which is lost, and when.
//
// Where a trace names its machines, an instance stands for one of them and is lost when that one
// was; else a capacity that falls takes instances at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/quantity.hpp"
#include "traces/series.hpp"

namespace ukemi::sim {

struct RecordedMachine {
    Instant from;
    Instant until = Instant::never();
    friend bool operator==(const RecordedMachine&, const RecordedMachine&) = default;
};

struct RecordedGroup {
    std::vector<RecordedMachine> machines;  // in the order in which they came
    std::vector<std::uint32_t> losses;      // numbers of these, in the order in which they went
    bool empty() const { return machines.empty(); }
};

// Events as a trace has them: in order, nobody joins twice or leaves without having joined.
RecordedGroup recorded_group(std::span<const traces::NodeEvent> events);
// All that are there then go at this moment, the first first.
void end_all(RecordedGroup& group, Instant at);
// What is left of it for somebody who begins later.
RecordedGroup begun_later(const RecordedGroup& group, Duration start);

// A run's place in such a group: who came and is not taken by an instance, who goes next.
class GroupCursor {
public:
    explicit GroupCursor(const RecordedGroup& group) : group_(&group) {}

    void advance(Instant now);  // to those that have come by now
    std::size_t free_count() const { return free_.size(); }
    std::uint32_t take_free();  // the first of them; there is one
    void give_back(std::uint32_t machine);
    // When the next loss is announced, `notice` before it; never() if none is left.
    Instant next_loss_announced(Duration notice) const;
    // The machine that is lost next; it can be taken no more.
    std::uint32_t lose_next();
    Instant lost_at(std::uint32_t machine) const { return group_->machines[machine].until; }

private:
    const RecordedGroup* group_;
    std::size_t came_ = 0;
    std::size_t lost_ = 0;             // announced, of the group's losses
    std::vector<std::uint32_t> free_;  // ascending
    std::vector<bool> gone_;           // announced, of those that came
};

}  // namespace ukemi::sim
