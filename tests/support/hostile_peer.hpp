// hostile_peer.hpp — who connects to a port of ours and means no good: thirty kinds of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/file_descriptor.hpp"
#include "base/socket_address.hpp"

namespace ukemi {

class HostilePeers {
public:
    static constexpr int kinds = 30;  // ten beginnings, three endings each

    // One more connection: of a kind that follows from how many there were. Does not wait. False if
    // it was refused, or this machine has no descriptor left.
    bool knock(const SocketAddress& at);
    std::size_t connections() const { return connections_; }
    // Of those that got through to a listener, by kind.
    const std::map<std::string, std::size_t>& by_kind() const { return by_kind_; }
    // Those that hold a connection and say nothing more: how many have not been hung up on.
    std::size_t still_held();

private:
    std::size_t connections_ = 0;
    std::map<std::string, std::size_t> by_kind_;
    std::deque<FileDescriptor> held_;  // the oldest first
};

}  // namespace ukemi
