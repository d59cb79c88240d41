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
#include "kernels/nccl/nccl_calls.hpp"

namespace ukemi::kernels {

struct NcclSettings {
    Membership membership;
    std::chrono::milliseconds deadline{10'000};  // of one operation
    std::chrono::milliseconds connecting{10'000};
    std::vector<std::string> round;  // see nccl_order.hpp
};

class NcclCommunicator final : public Communicator {
public:
    // `calls` outlives this object.
    NcclCommunicator(NcclCalls& calls, NcclSettings settings);
    ~NcclCommunicator() override;
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    // Once, before the first operation, with the id that one rank has made and the coordinator has
    // carried to all.
    Outcome connect(const NcclId& id);
    // Instead, where this is `parent` (connected, and of the same calls) but for these of its
    // ranks: between its operations. It stays as it is and outlives this call, as those ranks do.
    Outcome connect_within(const NcclCommunicator& parent, std::span<const int> excluded);
    bool is_ready() const;       // connected, nothing has failed since, and nothing is under way
    void report_lost(int rank);  // from any thread
    std::string why() const;     // after a failure: what NCCL said

    Membership membership() const override;
    Outcome all_reduce(std::string_view name, const Schedule& schedule, Reduction reduction,
                       std::span<std::byte> elements) override;
    Outcome all_gather(std::string_view name, std::span<const std::byte> own,
                       std::span<std::byte> all) override;
    Outcome broadcast(std::string_view name, std::span<std::byte> bytes, int root) override;
    Outcome exchange(std::string_view name, int peer, std::span<const std::byte> out,
                     std::span<std::byte> in) override;
    void abort() override;
    int suspect() const override;

private:
    Outcome widened_sum(std::string_view name, const Schedule& schedule,
                        std::span<std::byte> int16s);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ukemi::kernels
