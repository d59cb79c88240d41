// free_port.hpp — a port of the loopback that a program of a test may listen at.
//
// Not one that the kernel picks: between here and the program that listens there it could be the
// near end of somebody's connection, of which tests make thousands.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <system_error>

#include "base/socket_address.hpp"

namespace ukemi {

inline SocketAddress free_port() {
    constexpr std::uint32_t lowest = 10'000;
    constexpr std::uint32_t count = 20'000;  // below those that are picked (ip_local_port_range)
    constexpr std::uint32_t apart = 7919;    // a prime: processes begin far from each other
    static std::atomic<std::uint32_t> next{static_cast<std::uint32_t>(::getpid()) * apart};
    for (std::uint32_t tries = 0;; ++tries) {
        const auto port = static_cast<std::uint16_t>(lowest + next++ % count);
        const SocketAddress address = *SocketAddress::of_host("127.0.0.1", port);
        try {
            const FileDescriptor free = listening_socket(address);
            return address;
        } catch (const std::system_error&) {
            if (tries == count) throw;
        }
    }
}

}  // namespace ukemi
