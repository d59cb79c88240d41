// nccl_group.hpp — the life of one NCCL communicator: what waits, until when, and who is named.
//
//     absent ── connect ──► ready ── run ──► ready
//        ▲                    │  └─ shrink ──► ready (smaller, next epoch)
//        │                    │
//        └──── close ◄────────┴── deadline, error, loss reported, abort ──► broken ── close ──►
//
// NCCL's own errors do not say which rank is lost, and its waits have no end: heartbeats tell
// (`report_lost`, from any thread), and every wait here has a deadline. A group that has broken
// aborts its communicator before the call returns, so that the caller may free its buffers; what
// comes after a loss, and every growth, is a new group with a new id. (NCCL 2.28 shrinks and does
// not grow. It could also shrink while aborting, but then the parent's end may hang, and buffers
// would stay in use until then.)
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "kernels/communicator.hpp"
#include "studies/nccl/nccl_calls.hpp"

namespace ukemi::studies {

class NcclGroup {
public:
    enum class Phase : std::uint8_t { absent, ready, broken };

    NcclGroup(NcclCalls& calls, std::chrono::milliseconds deadline);
    ~NcclGroup();
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;

    Phase phase() const { return phase_; }
    kernels::Membership membership() const { return members_; }
    int suspect() const { return suspect_; }  // as Communicator::suspect
    const std::string& why() const { return why_; }

    // From absent. All ranks of the membership call it, with one id.
    kernels::Outcome connect(const NcclId& id, kernels::Membership members);
    // From ready: starts an operation, puts `then` on the stream behind it, and waits for both. A
    // launch that is in progress has put nothing on the stream yet, so `then` comes when it is
    // over.
    using Start = std::function<NcclState(const NcclCalls::Handle&)>;
    using Then = std::function<NcclState()>;
    kernels::Outcome run(const Start& start, const Then& then);
    // From ready: goes on without these ranks, which do not call. The epoch grows by one, those who
    // stay keep their order. After a failure the group is broken.
    kernels::Outcome shrink(std::span<const int> excluded);
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
    kernels::Outcome wait(const std::function<Looked()>& look);
    kernels::Outcome broke(kernels::Outcome outcome);

    NcclCalls& calls_;
    std::chrono::milliseconds deadline_;
    NcclCalls::Handle handle_;
    kernels::Membership members_;
    Phase phase_ = Phase::absent;
    int suspect_ = -1;
    std::string why_;
    std::atomic<int> lost_{-1};
    std::atomic<bool> aborted_{false};
};

// How to get from one group of machines, by rank, to the next.
struct NcclGroupChange {
    enum class Kind : std::uint8_t { none, shrink, anew } kind = Kind::none;
    std::vector<int> excluded;  // of shrink: ranks of the present group
};
// Shrinking keeps the survivors' order, so it serves only where the next group is the present one
// without some of its members. `reason_to_distrust`: the group broke and nobody knows by whom.
NcclGroupChange change_between(std::span<const InstanceId> present,
                               std::span<const InstanceId> next, bool reason_to_distrust);

}  // namespace ukemi::studies
