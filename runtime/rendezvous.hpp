// rendezvous.hpp — where workers find their coordinator, and how strangers are kept out.
//
// The coordinator listens on 127.0.0.1, at a port of the system's choice. A new connection is
// a stranger until it has sent a Hello with the right secret; it has a second and a few bytes for
// that. Strangers share a few places, and nothing waits for them: they cannot hold up a worker.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/connection.hpp"
#include "runtime/messages.hpp"

namespace ukemi::runtime {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;

Secret random_secret();  // std::system_error without the kernel's randomness
bool same_secret(const Secret& left, const Secret& right);  // in constant time

// What a worker is told, in its environment and never on its command line.
struct Invitation {
    std::uint16_t port = 0;
    std::uint32_t worker = 0;
    Secret secret{};
};
std::vector<std::string> environment_of(const Invitation& invitation);
// Takes it out of the environment and wipes the secret there: nothing that the worker starts, and
// nobody who looks at the process, shall find it. `problem` says why there is none.
struct TakenInvitation {
    std::optional<Invitation> invitation;
    std::string problem;
};
TakenInvitation take_invitation();
// Connects and sends the Hello. Throws std::system_error.
Connection accept_invitation(const Invitation& invitation);

class Door {
public:
    Door();  // listens; std::system_error if it cannot
    std::uint16_t port() const { return port_; }
    const Secret& secret() const { return secret_; }

    void watch(std::vector<pollfd>& descriptors) const;
    Moment next_deadline() const;  // of the strangers; Moment::max() if there are none

    struct Guest {
        Hello hello;
        Connection connection;
    };
    // Lets in who has shown the secret, and shows out who has not in time. Does not wait.
    std::vector<Guest> admit(Moment now);

private:
    struct Stranger {
        Connection connection;
        Moment deadline;
    };
    void accept_all(Moment now);
    FileDescriptor listening_;
    std::uint16_t port_ = 0;
    Secret secret_;
    std::vector<Stranger> strangers_;  // the oldest first
    Moment closed_until_{};            // after the system had no descriptor left
};

}  // namespace ukemi::runtime
