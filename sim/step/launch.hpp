// launch.hpp — when buckets that are ready on all workers are sent, and which of them together.
//
//   in_order     one collective at a time, in the order in which buckets are ready: PyTorch DDP on
//                NCCL
//   by_name      every bucket at once: KungFu, whose workers meet by the name of a tensor
//   coordinated  Horovod: rank 0 looks every cycle at which tensors all workers have, tells them,
//                and up to `fusion` bytes of these travel together, one collective at a time
// A negotiation without the cache: everybody sends rank 0 a request for each tensor that it has;
// rank 0 takes one message after another and files each request under its tensor; then it tells
// everybody, over a binary tree, of each tensor that all have. So it grows with ranks times
// tensors. With the cache, after a first step: an all-reduce of a bit vector, of which only the
// latency of 2 ⌈log2 n⌉ messages counts (horovod/common/controller.cc).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/step/buckets.hpp"

namespace ukemi::sim {

enum class LaunchKind : std::uint8_t { in_order, by_name, coordinated };
inline constexpr std::array<std::string_view, 3> launch_kind_names = {"in_order", "by_name",
                                                                      "coordinated"};

struct LaunchRule {
    LaunchKind kind = LaunchKind::in_order;
    // Before each collective moves a byte: 8.4 us is NCCL's for a ring and its Simple protocol
    // (src/graph/tuning.cc, baseLatencies).
    Duration overhead = nanoseconds(8'400);
    // Before that: of a message, all of its copies one after another; and those into and out of a
    // buffer in which several tensors travel (one alone is reduced where it lies: Horovod's
    // MPIAllreduce).
    double copy_s_per_byte = 0;
    double buffer_s_per_byte = 0;
    // coordinated: HOROVOD_CYCLE_TIME and HOROVOD_FUSION_THRESHOLD's defaults.
    Duration cycle = milliseconds(1);
    Bytes fusion = mebibytes(128);
    bool response_cache = true;
    Duration message = nanoseconds(10'000);  // a worker's work for one message: assumed
    // Rank 0's for one request, which it reads, looks up by name and compares with others: 0.13 to
    // 0.28 us with 8 to 512 ranks (a program of our own, one thread of a virtual AMD EPYC, -O2).
    // And its size, with a name of 80 letters, a shape of four and the fields of Horovod's message.
    Duration request = nanoseconds(200);
    Bytes request_bytes = bytes(144);
};

// Those whose messages go together.
struct LaunchPeers {
    std::size_t workers = 1;
    Duration latency;       // of a message to rank 0 from where it takes the longest
    double s_per_byte = 0;  // of what comes to rank 0 from there
};

// About so many tensors.
Duration negotiation_time(const LaunchRule& rule, const LaunchPeers& peers, std::int64_t tensors,
                          bool cached);

// Decides for one job. Its owner tells what happens in the order of time, and after each call
// starts what take() returns.
class BucketLauncher {
public:
    struct Message {
        std::vector<std::uint32_t> buckets;
        Bytes bytes;
    };

    BucketLauncher(const LaunchRule& rule, const LaunchPeers& peers);

    void begin_step(std::span<const GradientBucket> buckets);  // that outlive the step
    void bucket_ready(std::uint32_t bucket, Instant now);
    void message_sent();                    // one of those returned by take() is over
    std::optional<Instant> due_at() const;  // when to call due(), unless told something before
    void due(Instant now);                  // now is due_at()
    std::vector<Message> take();

private:
    void plan_tick(Instant now);

    LaunchRule rule_;
    LaunchPeers peers_;
    std::span<const GradientBucket> buckets_;
    std::int64_t steps_begun_ = 0;
    std::vector<std::uint32_t> waiting_;   // for a cycle to begin
    std::vector<std::uint32_t> agreeing_;  // being negotiated
    std::vector<Message> queue_;
    std::size_t in_flight_ = 0;
    Instant last_tick_;
    std::optional<Instant> tick_at_;
    std::optional<Instant> agreed_at_;
};

}  // namespace ukemi::sim
