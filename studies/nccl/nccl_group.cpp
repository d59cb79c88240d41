#include "studies/nccl/nccl_group.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::studies {

NcclGroup::NcclGroup(NcclCalls& calls, std::chrono::milliseconds deadline)
    : calls_(calls), deadline_(deadline) {}

NcclGroup::~NcclGroup() { close(); }

NcclGroup::Looked NcclGroup::look_at(const NcclCalls::Handle& handle) {
    return {calls_.state(handle), handle};
}

kernels::Outcome NcclGroup::wait(const std::function<Looked()>& look) {
    const auto until = calls_.now() + deadline_;
    for (;;) {
        if (aborted_) return kernels::Outcome::aborted;
        const int lost = lost_;
        if (lost >= 0) {
            suspect_ = lost;
            return kernels::Outcome::peer_lost;
        }
        const Looked looked = look();
        switch (looked.state) {
            case NcclState::done: return kernels::Outcome::ok;
            case NcclState::failed:
                why_ = calls_.why(looked.at);
                return kernels::Outcome::peer_lost;  // of whom nothing is known
            case NcclState::in_progress: break;
        }
        if (calls_.now() >= until) return kernels::Outcome::timed_out;
        calls_.pause();
    }
}

kernels::Outcome NcclGroup::broke(kernels::Outcome outcome) {
    phase_ = Phase::broken;
    if (handle_) calls_.abort(handle_);
    return outcome;
}

kernels::Outcome NcclGroup::connect(const NcclId& id, kernels::Membership members) {
    INVARIANT(phase_ == Phase::absent && members.size >= 1);
    INVARIANT(members.rank >= 0 && members.rank < members.size);
    members_ = members;
    handle_ = calls_.init(id, members.rank, members.size);
    const kernels::Outcome outcome = wait([&] { return look_at(handle_); });
    if (outcome != kernels::Outcome::ok) return broke(outcome);
    phase_ = Phase::ready;
    return kernels::Outcome::ok;
}

kernels::Outcome NcclGroup::run(const Start& start, const Then& then) {
    if (phase_ != Phase::ready) return kernels::Outcome::aborted;
    if (aborted_) return broke(kernels::Outcome::aborted);
    if (start(handle_) == NcclState::failed) {
        why_ = calls_.why(handle_);
        return broke(kernels::Outcome::peer_lost);
    }
    kernels::Outcome outcome = wait([&] { return look_at(handle_); });
    if (outcome == kernels::Outcome::ok && then() == NcclState::failed) {
        why_ = calls_.why(handle_);
        return broke(kernels::Outcome::peer_lost);
    }
    if (outcome == kernels::Outcome::ok) {
        outcome = wait([&] {
            // An error of another rank shows in the communicator, while the stream only hangs.
            const Looked looked = look_at(handle_);
            return looked.state == NcclState::failed ? looked : Looked{calls_.stream(), handle_};
        });
    }
    return outcome == kernels::Outcome::ok ? kernels::Outcome::ok : broke(outcome);
}

kernels::Outcome NcclGroup::shrink(std::span<const int> excluded) {
    INVARIANT(!excluded.empty());
    if (phase_ != Phase::ready) return kernels::Outcome::aborted;
    INVARIANT(std::ranges::is_sorted(excluded) && excluded.front() >= 0 &&
              excluded.back() < members_.size);
    INVARIANT(std::ranges::find(excluded, members_.rank) == excluded.end());
    const NcclCalls::Handle parent = handle_;
    handle_ = calls_.shrink(parent, excluded);
    // Over is the call on the parent. The child shows a moment before that, while NCCL would still
    // pass an abort of the parent on to it.
    const kernels::Outcome outcome = wait([&] {
        const Looked child = look_at(handle_);
        if (child.state == NcclState::failed) return child;
        const Looked whole = look_at(parent);
        return whole.state == NcclState::done ? child : whole;
    });
    // An orderly end of the parent would wait for those who have left.
    calls_.abort(parent);
    if (outcome != kernels::Outcome::ok) return broke(outcome);
    const auto before = [&](int rank) {
        return static_cast<int>(
            std::ranges::count_if(excluded, [&](int gone) { return gone < rank; }));
    };
    members_.rank -= before(members_.rank);
    members_.size -= static_cast<int>(excluded.size());
    ++members_.epoch;
    phase_ = Phase::ready;
    return kernels::Outcome::ok;
}

void NcclGroup::close() {
    if (phase_ == Phase::ready) {
        calls_.finish(handle_);
        const kernels::Outcome outcome = wait([&] { return look_at(handle_); });
        if (outcome != kernels::Outcome::ok) calls_.abort(handle_);
    }
    handle_.reset();
    phase_ = Phase::absent;
}

void NcclGroup::report_lost(int rank) { lost_ = rank; }
void NcclGroup::abort() { aborted_ = true; }

NcclGroupChange change_between(std::span<const InstanceId> present,
                               std::span<const InstanceId> next, bool reason_to_distrust) {
    NcclGroupChange change;
    if (std::ranges::equal(present, next)) {
        if (reason_to_distrust) change.kind = NcclGroupChange::Kind::anew;
        return change;
    }
    change.kind = NcclGroupChange::Kind::anew;
    if (reason_to_distrust || next.empty()) return change;
    std::size_t at = 0;  // in `next`
    std::vector<int> excluded;
    for (std::size_t rank = 0; rank < present.size(); ++rank) {
        if (at < next.size() && next[at] == present[rank]) {
            ++at;
        } else {
            excluded.push_back(static_cast<int>(rank));
        }
    }
    if (at < next.size()) return change;  // somebody is new, or stands elsewhere
    change.kind = NcclGroupChange::Kind::shrink;
    change.excluded = std::move(excluded);
    return change;
}

}  // namespace ukemi::studies
