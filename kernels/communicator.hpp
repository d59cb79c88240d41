// communicator.hpp — what a training step needs from its peers, whatever carries the bytes.
//
// One Communicator is one membership epoch: a fixed set of ranks. When a rank joins or leaves, the
// runtime drops the object and makes a new one; nothing here is ever resized. Losing a peer is
// something to adapt to, so it is a value. After anything but `ok` the buffers are unspecified and
// the only things left to do are `suspect`, `abort` and destruction.
//
// Operations are matched by name: every rank calls each operation once with the same name, size and
// schedule, in any order and from any thread; a name may be used again once its operation is over
// on this rank. No call waits longer than the deadline that the object was made with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/reduction.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

enum class [[nodiscard]] Outcome : std::uint8_t { ok, peer_lost, timed_out, aborted };
std::span<const std::string_view> outcome_names();

struct Membership {
    std::uint64_t epoch = 0;  // grows with every change of the set
    int rank = 0;
    int size = 1;
};

class Communicator {
public:
    virtual ~Communicator() = default;
    virtual Membership membership() const = 0;
    // By rank, a number for its host, the same on all ranks; empty if all are on one.
    virtual std::vector<std::int32_t> hosts() const { return {}; }

    // Carries out an all-reduce schedule of `size` ranks: combines in place over all ranks, in the
    // order that the schedule fixes, so that every rank has equal bits afterwards. `elements` are
    // whole elements, and begin where such an element may stand in memory.
    virtual Outcome all_reduce(std::string_view name, const Schedule& schedule, Reduction reduction,
                               std::span<std::byte> elements) = 0;
    Outcome all_reduce_sum(std::string_view name, const Schedule& schedule,
                           std::span<float> values) {
        return all_reduce(name, schedule, Reduction::sum_single, std::as_writable_bytes(values));
    }
    // `all` is size × own.size() bytes; rank r's bytes come to stand at r × own.size().
    virtual Outcome all_gather(std::string_view name, std::span<const std::byte> own,
                               std::span<std::byte> all) = 0;
    virtual Outcome broadcast(std::string_view name, std::span<std::byte> bytes, int root) = 0;
    // Sends to `peer` and receives as many bytes from it; the peer does the same.
    virtual Outcome exchange(std::string_view name, int peer, std::span<const std::byte> out,
                             std::span<std::byte> in) = 0;

    // From any thread: operations that wait, here, return `aborted` soon; so do later ones.
    virtual void abort() = 0;
    // After peer_lost or timed_out: the rank that was waited for, or −1.
    virtual int suspect() const = 0;
};

}  // namespace ukemi::kernels
