// socket_communicator.hpp — a Communicator between processes, on one machine or several: its own
// sends and receives over TCP, authenticated with the group's key, and encrypted between machines.
//
// It is made in two steps, because the caller carries the addresses (the coordinator's control
// channel; there is no store): the constructor listens, on 127.0.0.1 unless told otherwise, and
// `address` is what the others must be told; `connect` takes everybody's and returns when all are
// connected.
//
// Schedules are carried out by our own code. A death is noticed by all ranks that are in an
// operation, and not only by those who wait for the dead one. Before a failed operation returns,
// this rank tells the others whom it had waited for, so that they name that rank and not this one,
// and closes its connections: nothing touches the caller's memory afterwards. That takes
// milliseconds; up to 0.5 s if a second peer does not read either.
//
// Each pair of ranks has a key that follows from `secret`, epoch, size and the two ranks, and each
// connection fresh ones (`secure_stream.hpp`). Who does not know the secret gets no further than
// the door, which is open while the group connects: he cannot join, read, change or end anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"

namespace ukemi::kernels {

// What goes from rank to rank; the handshake always is. Ranks that differ in it do not meet.
enum class Encryption : std::uint8_t {
    across_hosts,  // but not in a group that listens on the loopback, where only root could listen
    always,
    never,  // a network whose every machine is trusted
};

struct GroupSettings {
    Membership membership;
    std::chrono::milliseconds deadline{10'000};  // of one operation, and of connecting
    std::string secret;                          // the same on all ranks of an epoch
    std::string listen = "127.0.0.1";            // in numbers; an address of this machine
    Encryption encryption = Encryption::across_hosts;
};

class SocketCommunicator final : public Communicator {
public:
    // Throws std::system_error if the machine has no sockets left, or not this address.
    explicit SocketCommunicator(GroupSettings settings);
    // Takes leave of the others: at most a second.
    ~SocketCommunicator() override;
    SocketCommunicator(const SocketCommunicator&) = delete;
    SocketCommunicator& operator=(const SocketCommunicator&) = delete;

    // Where the others reach this rank, as text.
    std::span<const std::byte> address() const;
    // Once, before the first operation: `addresses` of all ranks by rank, this one's included. An
    // address that is damaged is a lost peer; one of another machine is, too, for a rank that
    // listens on the loopback, and the other way round.
    Outcome connect(std::span<const std::vector<std::byte>> addresses);

    Membership membership() const override;
    std::vector<std::int32_t> hosts() const override;  // by the addresses, once connected
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
