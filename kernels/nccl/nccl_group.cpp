#include "kernels/nccl/nccl_group.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {

NcclGroup::NcclGroup(NcclCalls& calls, std::chrono::milliseconds deadline,
                     std::chrono::milliseconds connecting)
    : calls_(calls), deadline_(deadline), connecting_(connecting) {}

NcclGroup::~NcclGroup() { close(); }

NcclGroup::Looked NcclGroup::look_at(const NcclCalls::Handle& handle) {
    return {calls_.state(handle), handle};
}

Outcome NcclGroup::wait(std::chrono::milliseconds deadline, const std::function<Looked()>& look) {
    const auto until = calls_.now() + deadline;
    for (;;) {
        if (aborted_) return Outcome::aborted;
        const int lost = lost_;
        if (lost >= 0) {
            suspect_ = lost;
            return Outcome::peer_lost;
        }
        const Looked looked = look();
        switch (looked.state) {
            case NcclState::done: return Outcome::ok;
            case NcclState::failed:
                why_ = calls_.why(looked.at);
                return Outcome::peer_lost;  // of whom nothing is known
            case NcclState::in_progress: break;
        }
        if (calls_.now() >= until) return Outcome::timed_out;
        calls_.pause();
    }
}

Outcome NcclGroup::broke(Outcome outcome) {
    phase_ = Phase::broken;
    if (handle_) calls_.abort(handle_);
    return outcome;
}

Outcome NcclGroup::connect(const NcclId& id, Membership members) {
    INVARIANT(phase_ == Phase::absent && members.size >= 1);
    INVARIANT(members.rank >= 0 && members.rank < members.size);
    members_ = members;
    handle_ = calls_.init(id, members.rank, members.size);
    const Outcome outcome = wait(connecting_, [&] { return look_at(handle_); });
    if (outcome != Outcome::ok) return broke(outcome);
    phase_ = Phase::ready;
    return Outcome::ok;
}

Outcome NcclGroup::run(const Start& start, const Then& then) {
    if (phase_ != Phase::ready) return Outcome::aborted;
    if (aborted_) return broke(Outcome::aborted);
    if (start(handle_) == NcclState::failed) {
        why_ = calls_.why(handle_);
        return broke(Outcome::peer_lost);
    }
    Outcome outcome = wait(deadline_, [&] { return look_at(handle_); });
    if (outcome == Outcome::ok && then() == NcclState::failed) {
        why_ = calls_.why(handle_);
        return broke(Outcome::peer_lost);
    }
    if (outcome == Outcome::ok) {
        outcome = wait(deadline_, [&] {
            // An error of another rank shows in the communicator, while the stream only hangs.
            const Looked looked = look_at(handle_);
            return looked.state == NcclState::failed ? looked : Looked{calls_.stream(), handle_};
        });
    }
    return outcome == Outcome::ok ? Outcome::ok : broke(outcome);
}

Outcome NcclGroup::connect_within(const NcclGroup& parent, std::span<const int> excluded,
                                  Membership members) {
    INVARIANT(phase_ == Phase::absent && !excluded.empty());
    if (parent.phase_ != Phase::ready) return Outcome::aborted;
    const Membership& before = parent.members_;
    INVARIANT(std::ranges::is_sorted(excluded) && excluded.front() >= 0 &&
              excluded.back() < before.size);
    INVARIANT(std::ranges::find(excluded, before.rank) == excluded.end());
    INVARIANT(members.size == before.size - static_cast<int>(excluded.size()));
    members_ = members;
    handle_ = calls_.shrink(parent.handle_, excluded);
    // Over is the call on the parent. The child shows a moment before that, while NCCL would still
    // pass an abort of the parent on to it.
    const Outcome outcome = wait(connecting_, [&] {
        const Looked child = look_at(handle_);
        if (child.state == NcclState::failed) return child;
        const Looked whole = look_at(parent.handle_);
        return whole.state == NcclState::done ? child : whole;
    });
    if (outcome != Outcome::ok) return broke(outcome);
    phase_ = Phase::ready;
    return Outcome::ok;
}

void NcclGroup::close() {
    if (phase_ == Phase::ready && aborted_) {
        calls_.abort(handle_);
    } else if (phase_ == Phase::ready) {
        calls_.finish(handle_);
        const Outcome outcome = wait(deadline_, [&] { return look_at(handle_); });
        if (outcome != Outcome::ok) calls_.abort(handle_);
    }
    handle_.reset();
    phase_ = Phase::absent;
}

void NcclGroup::report_lost(int rank) { lost_ = rank; }
void NcclGroup::abort() { aborted_ = true; }

}  // namespace ukemi::kernels
