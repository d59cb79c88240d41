// layout_slowing.cpp — of LayoutPlayer: what computing loses while parameters or gradients are on
// the way between replicas.
//
// A block that would be over goes on for as long as it has lost so far; while sending goes on, it
// is taken to go on until the block is over, and seen again when it ends before that.
#include <algorithm>
#include <cmath>

#include "base/invariant.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi::sim {

// Something that this pipeline rank gathers, or that its sender sends, has begun or ended. Where
// pipelines go both ways, a rank adds up gradients with two senders: its own, and that of the rank
// that has the same stages.
void LayoutPlayer::note_sending(std::size_t stage_rank, Instant now) {
    const std::size_t other = passes_.size() - 1 - stage_rank;
    const bool both = spec_.copies() > 1;
    INVARIANT(!both || gathers_.empty());
    const auto sends = [&](std::size_t sender) {
        return std::ranges::any_of(gradients_, [&](const GradientSet& set) {
            return !set.senders.empty() && set.senders[sender].is_sending();
        });
    };
    const bool gathers = stage_rank < gathers_left_.size() && gathers_left_[stage_rank] > 0;
    const bool on = gathers || sends(stage_rank) || (both && sends(other));
    note_sending_of(stage_rank, on, now);
    if (both) note_sending_of(other, on, now);
}

void LayoutPlayer::note_sending_of(std::size_t stage_rank, bool on, Instant now) {
    SendingTime& sending = sending_[stage_rank];
    if (on == sending.on) return;
    sending.before = sending.total(now);
    sending.since = now;
    sending.on = on;
    if (on) return;
    for (std::int32_t replica = 0; replica < work_.degrees.data; ++replica) {
        const std::size_t index = index_of(replica, static_cast<std::int32_t>(stage_rank));
        const Cell& cell = cells_[index];
        if (cell.slowed) wait_until(index, std::max(now, slowed_until(cell, now)));
    }
}

// The block under way is over by then, if nothing that is sent slows it.
void LayoutPlayer::compute_until(std::size_t index, Instant end) {
    cells_[index].planned = end;
    wait_until(index, end);
}

void LayoutPlayer::wait_until(std::size_t index, Instant end) {
    cells_[index].due = end;
    if (end == Instant::never()) return;  // until what is on the way has arrived
    host().wake(*this, end, token_of(LayoutToken::computed, index));
}

// When the block under way will have made up for what its device has lost by now, if as much goes
// on being sent as now; not after now: it has.
Instant LayoutPlayer::slowed_until(const Cell& cell, Instant now) const {
    const SendingTime& sending = sending_[static_cast<std::size_t>(cell.stage_rank)];
    const double share = work_.slowed_by_sending;
    const double lost_ns = share * static_cast<double>((sending.total(now) - cell.sent).raw());
    const Duration lost = std::max(Duration::of(round_nearest(lost_ns)) - cell.spare, Duration{});
    const Duration rest = lost - (now - cell.planned);
    if (!sending.on || rest <= Duration{}) return now + rest;
    constexpr double never_ns = 1e15;
    const double rest_ns = std::ceil(static_cast<double>(rest.raw()) / (1 - share));
    return rest_ns < never_ns ? now + Duration::of(round_nearest(rest_ns)) : Instant::never();
}

// Whether the block under way, which would be over by now, goes on.
bool LayoutPlayer::is_slowed(std::size_t index, Instant now) {
    if (work_.slowed_by_sending == 0) return false;
    Cell& cell = cells_[index];
    const Instant end = slowed_until(cell, now);
    cell.slowed = end > now;
    if (cell.slowed) {
        wait_until(index, end);
    } else {
        sums_.compute += work_.cell() * (now - cell.planned);
    }
    return cell.slowed;
}

}  // namespace ukemi::sim
