// nccl_communicator.hpp — a Communicator whose ranks are GPUs, one each, over NCCL.
//
// The same promises as SocketCommunicator's, but for two. NCCL picks its own algorithm, so the
// schedule of an all-reduce is not followed: sums are equal on all ranks, and not those of a
// schedule bit for bit. And a rank that is lost has no name unless heartbeats give it one
// (report_lost). Values may lie in the device's memory, where they are used in place, or in the
// host's, where they are staged; sums of int16, which NCCL has not, are widened there, so theirs
// must. Operations run one after the other, in the order of `round`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/communicator.hpp"
#include "studies/nccl/nccl_calls.hpp"

namespace ukemi::studies {

struct NcclSettings {
    kernels::Membership membership;
    std::chrono::milliseconds deadline{10'000};  // of one operation, and of connecting
    std::vector<std::string> round;              // see nccl_order.hpp
};

class NcclCommunicator final : public kernels::Communicator {
public:
    // `calls` outlives this object.
    NcclCommunicator(NcclCalls& calls, NcclSettings settings);
    ~NcclCommunicator() override;
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    // Once, before the first operation, with the id that one rank has made and the coordinator has
    // carried to all.
    kernels::Outcome connect(const NcclId& id);
    // Between operations: those that stay become the next membership epoch of the same object.
    kernels::Outcome shrink(std::span<const int> excluded);
    void report_lost(int rank);  // from any thread
    std::string why() const;     // after a failure: what NCCL said

    kernels::Membership membership() const override;
    kernels::Outcome all_reduce(std::string_view name, const kernels::Schedule& schedule,
                                kernels::Reduction reduction,
                                std::span<std::byte> elements) override;
    kernels::Outcome all_gather(std::string_view name, std::span<const std::byte> own,
                                std::span<std::byte> all) override;
    kernels::Outcome broadcast(std::string_view name, std::span<std::byte> bytes,
                               int root) override;
    kernels::Outcome exchange(std::string_view name, int peer, std::span<const std::byte> out,
                              std::span<std::byte> in) override;
    void abort() override;
    int suspect() const override;

private:
    kernels::Outcome widened_sum(std::string_view name, const kernels::Schedule& schedule,
                                 std::span<std::byte> int16s);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ukemi::studies
