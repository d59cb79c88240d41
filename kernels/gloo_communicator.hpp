// gloo_communicator.hpp — a Communicator between processes of one machine, over TCP by Gloo.
//
// It is made in two steps, because the caller carries the addresses (the coordinator's control
// channel; there is no store): the constructor listens, on 127.0.0.1 only, and `address` is what
// the others must be told; `connect` takes everybody's and returns when all are connected.
//
// Only Gloo's point-to-point transport is used: schedules are carried out by our own code. Each
// peer is also watched, so that a death is noticed by all ranks and not only by those who wait for
// the dead one. Before a failed operation returns, this rank tells the others whom it had waited
// for, so that they name that rank and not this one, and closes its connections: nothing touches
// the caller's memory afterwards. That takes milliseconds; up to 0.5 s if a second peer does not
// read either.
//
// Every peer proves that it knows `secret` (and has the epoch, size and rank it should have) when
// connecting, by an HMAC-SHA-256 of who says it to whom. This keeps strays out, not an attacker on
// this machine: the bytes are not encrypted, and Gloo ends the process when its own framing is
// violated before that.
//
// SIGPIPE is ignored in the whole process from the first object on, unless somebody handles it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"

namespace ukemi::kernels {

struct GlooSettings {
    Membership membership;
    std::chrono::milliseconds deadline{10'000};  // of one operation, and of connecting
    std::string secret;                          // the same on all ranks of an epoch
};

class GlooCommunicator final : public Communicator {
public:
    // Throws std::system_error if the machine has no sockets left.
    explicit GlooCommunicator(GlooSettings settings);
    // Takes leave of the others, who may still be reading: at most a second.
    ~GlooCommunicator() override;
    GlooCommunicator(const GlooCommunicator&) = delete;
    GlooCommunicator& operator=(const GlooCommunicator&) = delete;

    // Where the others reach this rank; about 140 bytes a rank.
    std::span<const std::byte> address() const;
    // Once, before the first operation: `addresses` of all ranks by rank, this one's included. An
    // address that is damaged or not on this machine is a lost peer.
    Outcome connect(std::span<const std::vector<std::byte>> addresses);

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
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ukemi::kernels
