// rendezvous.hpp — where workers find their coordinator, and how strangers are kept out.
//
// The coordinator listens on 127.0.0.1 unless it is given an address, at a port of the system's
// choice unless agents shall find it. A new connection is a stranger until it has shown that it has
// the secret, which is never sent, and said who it is; it has some seconds for that. Strangers
// share a few places, and nothing waits for them: they cannot hold up a worker. What comes after is
// encrypted.
//
// Only workers of a script, whose language has no such connections, send the secret itself: to a
// door on 127.0.0.1 that is `plain`.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/socket_address.hpp"
#include "runtime/connection.hpp"
#include "runtime/messages.hpp"

namespace ukemi::runtime {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;

Secret random_secret();  // std::system_error without the kernel's randomness
bool same_secret(const Secret& left, const Secret& right);  // in constant time

// What a worker is told, in its environment and never on its command line.
struct Invitation {
    SocketAddress address;
    std::uint32_t worker = 0;
    Secret secret{};
    std::vector<SocketAddress> others{};  // where the next coordinator may be
    std::string news{};                   // a file that says where it is; mostly empty
    // Its place on its machine, the lowest that is free: which GPU it takes, and which core.
    std::uint32_t slot = 0;
};
std::vector<std::string> environment_of(const Invitation& invitation);
// Takes it out of the environment and wipes the secret there: nothing that the worker starts, and
// nobody who looks at the process, shall find it. `problem` says why there is none.
struct TakenInvitation {
    std::optional<Invitation> invitation;
    std::string problem;
};
TakenInvitation take_invitation();
// The same as lines NAME=value, from a stream: for a worker whose environment comes from elsewhere.
TakenInvitation read_invitation(std::istream& in);
std::string text_of(const Invitation& invitation);
// Connects and sends the Hello. Throws std::system_error, also if that takes longer.
inline constexpr std::chrono::milliseconds connect_time{10'000};
Connection accept_invitation(const Invitation& invitation,
                             std::chrono::milliseconds within = connect_time);

// The same for an agent, which has a secret of its own from its user.
Connection join_as_agent(const SocketAddress& coordinator, const Secret& secret,
                         const AgentHello& hello, std::chrono::milliseconds within);

class Door {
public:
    enum class Kind : std::uint8_t { secure, plain };
    // Listens there; std::system_error if it cannot. `agents`: those with that secret may join, by
    // a secure door. `workers`: the secret of those who may enter, drawn if there is none.
    Door(const SocketAddress& host, Kind kind, const std::optional<Secret>& agents = {},
         const std::optional<Secret>& workers = {});
    const SocketAddress& address() const { return address_; }
    const Secret& secret() const { return secret_; }

    void watch(std::vector<pollfd>& descriptors) const;
    Moment next_deadline() const;  // of the strangers; Moment::max() if there are none

    struct Guest {
        std::variant<Hello, AgentHello> hello;
        Connection connection;
    };
    // Lets in who has shown the secret, and shows out who has not in time. Does not wait.
    std::vector<Guest> admit(Moment now);
    // Hosts of agents that have another secret, each once, and only the first ones.
    std::vector<std::string> take_wrong_secrets() { return std::exchange(wrong_secrets_, {}); }

private:
    struct Stranger {
        Connection connection;
        std::string host;
        Moment deadline;
        bool proves = false;  // it has begun to prove that it has the secret
    };
    void accept_all(Moment now);
    Connection connection_of(FileDescriptor socket) const;
    void note_wrong_secret(const Stranger& stranger);
    bool is_ours(const Hello& hello, const Connection& connection) const;
    bool is_ours(const AgentHello& hello, const Connection& connection) const;
    // Takes the stranger's first message; who has shown that he is one of ours becomes a guest.
    std::optional<Guest> guest_of(const Message& message, Connection& connection) const;
    Kind kind_;
    FileDescriptor listening_;
    SocketAddress address_;
    Secret secret_;
    std::optional<Secret> agents_;
    std::vector<Stranger> strangers_;  // the oldest first
    std::set<std::string> hosts_with_wrong_secrets_;
    std::vector<std::string> wrong_secrets_;
    Moment closed_until_{};  // after the system had no descriptor left
};

}  // namespace ukemi::runtime
