// nccl_calls.hpp — what is asked of NCCL, as an interface: the library behind it where there is a
// GPU, a double of it in tests of what happens when ranks come, go or fall silent.
//
// Everything starts and returns; nothing waits. A communicator is non-blocking (ncclConfig
// blocking = 0): after a call that is `in_progress`, `state` says when it is over. Operations run
// on one stream of the object, in the order of the calls, which must be the same on all ranks. One
// rank a GPU: two ranks on one are refused by NCCL before 2.30.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/reduction.hpp"

namespace ukemi::kernels {

enum class NcclState : std::uint8_t { done, in_progress, failed };

using NcclId = std::array<std::byte, 128>;  // ncclUniqueId, carried by the coordinator

class NcclCalls {
public:
    struct Communicator;  // NCCL's, or the double's
    using Handle = std::shared_ptr<Communicator>;

    virtual ~NcclCalls() = default;

    virtual NcclId new_id() = 0;  // on one rank; throws std::runtime_error if NCCL cannot
    virtual Handle init(const NcclId& id, int rank, int size) = 0;
    // Of a parent with nothing under way, those that stay, with new ranks in the old order.
    // Excluded ranks do not call, and live until it is over (NVIDIA/nccl#2397): until neither the
    // parent's nor the child's state is in progress.
    virtual Handle shrink(const Handle& parent, std::span<const int> excluded) = 0;
    virtual NcclState state(const Handle& of) = 0;  // of the last call on it
    virtual std::string why(const Handle& of) = 0;  // after `failed`

    // On memory that the device reads. They are under way until `stream` is done.
    // Never of sum_int16, which NCCL has not.
    virtual NcclState all_reduce(const Handle& on, Reduction reduction,
                                 std::span<std::byte> elements) = 0;
    virtual NcclState all_gather(const Handle& on, const std::byte* own, std::size_t bytes,
                                 std::byte* all) = 0;
    virtual NcclState broadcast(const Handle& on, std::span<std::byte> bytes, int root) = 0;
    virtual NcclState exchange(const Handle& on, int peer, std::span<const std::byte> out,
                               std::byte* in) = 0;
    virtual NcclState stream() = 0;  // whether all that was put on it is over

    virtual void finish(const Handle& of) = 0;  // begins an orderly end (ncclCommFinalize)
    // Ends it at once, whatever hangs. Buffers of its operations may be freed afterwards only.
    virtual void abort(const Handle& of) = 0;

    // Memory that operations may use, for bytes that lie elsewhere, and memory of the host that the
    // device copies to and from by itself: a copy of other memory of the host would wait, without
    // end, for what is on the stream before it. Neither may be freed while anything is under way.
    virtual bool reaches(const void* memory) = 0;
    virtual std::shared_ptr<std::byte> staging(std::size_t bytes) = 0;
    virtual std::shared_ptr<std::byte> pinned(std::size_t bytes) = 0;
    // Between these two; on the stream.
    virtual NcclState copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

    virtual std::chrono::nanoseconds now() = 0;
    virtual void pause() = 0;  // between two looks at a state: microseconds
};

}  // namespace ukemi::kernels
