// deadline_view.hpp — how a job stands against its deadline, in the terms of «Can't Be Late».
//
// Wu et al., NSDI'24: C(t) compute left, R(t) time left, d changeover cost. Everything is integer
// time; where the job's clock ticks, times are rounded to the tick so that a decision still holds
// until the next one. In a world without a tick the policies say themselves when to ask again.
#pragma once

#include <optional>
#include <vector>

#include "policies/policy.hpp"

namespace ukemi::policies {

// Spot capacity of the zones that the Plan buys in; a policy that turns the zone widens it.
std::int32_t spot_within_reach(const PolicyView& view);

struct DeadlineView {
    Duration elapsed;    // t
    Duration limit;      // from start to deadline, R(0)
    Duration remaining;  // R(t), negative once it is too late
    // C(0), at the size that on-demand can always give, the job's largest, and at the speed of the
    // zone where it would be bought.
    Duration work_total;
    Duration work_left;     // C(t)
    Duration work_at_risk;  // work left if all that may be taken were lost now; C(t) if lossless
    Duration overhead;      // d: transition, with restore and the checkpoint that precedes it
    Duration tick;          // zero: asked by events
    bool spot_available = false;  // enough for the job to train at all
    // As much of it as keeps to the line from start to deadline, or as the job can use.
    bool spot_keeps_pace = false;
    double pace = 0;             // at which the group trains now; 1: that of C(t)
    Market held = Market::none;  // what it has enough of now; spot if it has enough of both
    // Spot is there, and on-demand trains or saves until nothing can be lost any more.
    bool leaves_on_demand = false;
    bool in_transition = false;
    bool full_speed = false;  // as many workers train as ever will
    bool slower = false;      // the zone of the group is slower than that of on-demand would be
    bool leaving = false;     // too few are held that nobody has announced to be lost
    bool loses_work = false;  // finished steps are at risk until they are saved

    Duration done() const { return work_total - work_left; }
    // The progress that uniform progress expects at time t + ahead, minus what is done, times
    // limit / work_total: its sign says whether the job is behind. Exact (128 bits).
    bool behind(Duration ahead) const;
    bool level_or_behind(Duration ahead) const;
    bool ahead_by(Duration work) const;  // so much more is done than is expected by now
    // When, at the present pace, what is done will be what is expected `ahead` of then; nothing if
    // never, or not within 30 years.
    std::optional<Duration> meets_line_in(Duration ahead) const;
};

// With the saving that the Plan does now. Where enough of both markets is held, the model counts as
// being on spot.
DeadlineView deadline_view(const PolicyView& view);

// The same over time, with the most saving that any Plan so far did. A checkpoint policy may save
// less on on-demand than on spot; if that lengthened the slack, a policy that just fell back to
// on-demand would at once see reason to leave it again, for ever. It also knows who trained last:
// while a job goes from on-demand to spot, both are held until on-demand has saved.
class DeadlineWatch {
public:
    DeadlineView look(const PolicyView& view);

private:
    Duration least_interval_ = never_checkpoint;
    bool on_demand_has_model_ = false;
};

// The last line of defence: from when on the job must not depend on spot any more.
enum class SafetyNet {
    simple,  // keep a spot instance that is held, else on-demand; tested against R(t)
    strong,  // the same against R(t) rounded down to the tick, and not while still starting on spot
};
// The market the net insists on, or nothing while there is slack.
std::optional<Market> safety_net(SafetyNet kind, const DeadlineView& view);

// Whether there is time for changes that are not needed: so many changeovers, and then the net.
bool bears_a_change(const DeadlineView& view, std::int64_t changes = 1);

// The zones that the deadline bears: not those that are slower than the Plan's, if on-demand there
// would not bear a changeover more. All, if none is left.
std::vector<ZoneView> zones_in_time(const PolicyView& view);

// The earlier of two moments to ask again; nothing is never.
std::optional<Duration> sooner_of(std::optional<Duration> one, std::optional<Duration> other);
// So many seconds from now, a little later; nothing for what is past, no number or beyond 30 years.
std::optional<Duration> in_seconds(double in_s);

// When the net will have to be asked again in a world without a tick; nothing if events suffice.
std::optional<Duration> safety_net_due(const DeadlineView& view);

}  // namespace ukemi::policies
