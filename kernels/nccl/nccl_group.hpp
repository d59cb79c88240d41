// nccl_group.hpp — the life of one NCCL communicator: what waits, until when, and who is named.
//
//     absent ── connect, connect_within ──► ready ── run ──► ready
//        ▲                                    │
//        └──── close ◄────────────────────────┴── deadline, error, loss, abort ──► broken ── close
//
// NCCL's own errors do not say which rank is lost, and its waits have no end: heartbeats tell
// (`report_lost`, from any thread), and every wait here has a deadline. A group that has broken
// aborts its communicator before the call returns, so that the caller may free its buffers; what
// comes after a loss, and every growth, is a new group with a new id. A group that only loses
// members in a planned way may be made within the present one, which stays as it is: who makes
// it may still let it go. (NCCL 2.28 shrinks and does not grow. It could also shrink while
// aborting, but then the parent's end may hang, and buffers would stay in use until then.)
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "kernels/communicator.hpp"
#include "kernels/nccl/nccl_calls.hpp"

namespace ukemi::kernels {

class NcclGroup {
public:
    enum class Phase : std::uint8_t { absent, ready, broken };

    // `connecting`: the deadline of that.
    NcclGroup(NcclCalls& calls, std::chrono::milliseconds deadline,
              std::chrono::milliseconds connecting);
    ~NcclGroup();
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;

    Phase phase() const { return phase_; }
    // Nothing has ended it, nor is about to, and no group is being made within it: one that hangs
    // takes this one with it.
    bool is_whole() const {
        return phase_ == Phase::ready && !aborted_ && lost_ < 0 &&
               calls_.state(handle_) == NcclState::done;
    }
    Membership membership() const { return members_; }
    int suspect() const { return suspect_; }  // as Communicator::suspect
    const std::string& why() const { return why_; }

    // From absent. All ranks of the membership call it, with one id.
    Outcome connect(const NcclId& id, Membership members);
    // From absent: the members of `parent` but for these ranks, which do not call and live until
    // this returns. Those who stay keep their order. The parent is ready, has nothing under way and
    // outlives the call.
    Outcome connect_within(const NcclGroup& parent, std::span<const int> excluded,
                           Membership members);
    // From ready: starts an operation, puts `then` on the stream behind it, and waits for both. A
    // launch that is in progress has put nothing on the stream yet, so `then` comes when it is
    // over.
    using Start = std::function<NcclState(const NcclCalls::Handle&)>;
    using Then = std::function<NcclState()>;
    Outcome run(const Start& start, const Then& then);
    // An orderly end where nothing is broken; else what is left is aborted.
    void close();

    // From any thread.
    void report_lost(int rank);  // a heartbeat stopped: waits end with peer_lost
    void abort();                // waits end with aborted; so does everything later

private:
    struct Looked {
        NcclState state;
        NcclCalls::Handle at;  // who says why, after `failed`
    };
    Looked look_at(const NcclCalls::Handle& handle);
    // Until it is no longer in progress, or somebody or the deadline ends the wait.
    Outcome wait(std::chrono::milliseconds deadline, const std::function<Looked()>& look);
    Outcome broke(Outcome outcome);

    NcclCalls& calls_;
    std::chrono::milliseconds deadline_;
    std::chrono::milliseconds connecting_;
    NcclCalls::Handle handle_;
    Membership members_;
    Phase phase_ = Phase::absent;
    int suspect_ = -1;
    std::string why_;
    std::atomic<int> lost_{-1};
    std::atomic<bool> aborted_{false};
};

}  // namespace ukemi::kernels
