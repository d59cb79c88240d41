// in_process.hpp — collectives without sockets: all ranks on one thread, or a thread a rank.
//
// Both give the bits that SocketCommunicator gives for the same schedule: the schedule alone fixes
// the order of the sums.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::test {

// Carries out a whole schedule over the buffers of all ranks (equal sizes, one a rank), in the
// order of its list, on this thread.
void run_schedule(const kernels::Schedule& schedule, std::span<const std::span<float>> buffers);

// Communicators for threads of one process; each is used by the threads of one rank. They share
// their state: any of them may be destroyed first. A rank whose object is destroyed has left: who
// still waits for it gets peer_lost.
class InProcessCommunicator final : public kernels::Communicator {
public:
    struct Hub;
    InProcessCommunicator(std::shared_ptr<Hub> hub, kernels::Membership membership);
    ~InProcessCommunicator() override;
    InProcessCommunicator(const InProcessCommunicator&) = delete;
    InProcessCommunicator& operator=(const InProcessCommunicator&) = delete;

    // As if the process of this rank had been killed: its operations return `aborted`, all others
    // that wait, peer_lost with this rank as the suspect. From any thread.
    void die();

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
    struct State;
    std::unique_ptr<State> state_;
};

// One for each rank from 0 to ranks − 1. An operation fails when `deadline` has passed.
std::vector<std::unique_ptr<InProcessCommunicator>> in_process_communicators(
    int ranks, std::chrono::milliseconds deadline, std::uint64_t epoch = 0);

}  // namespace ukemi::test
