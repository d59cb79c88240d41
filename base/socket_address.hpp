// socket_address.hpp — where something listens: an IPv4 or IPv6 address in numbers, and a port.
//
// Names are not looked up: a look-up may wait, and may answer otherwise tomorrow.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace ukemi {

class SocketAddress {
public:
    // "127.0.0.1" or "::1"; nothing for anything else.
    static std::optional<SocketAddress> of_host(std::string_view host, std::uint16_t port);
    // "127.0.0.1:4711" or "[::1]:4711".
    static std::optional<SocketAddress> of_text(std::string_view text);
    // Of this end of a socket. Throws std::system_error for what is no socket of the internet.
    static SocketAddress of_socket(int socket);
    // Empty if that one is gone.
    static std::string host_at_other_end(int socket);

    std::string host() const;
    std::string text() const;
    std::uint16_t port() const;
    bool is_loopback() const;
    bool is_any() const;  // 0.0.0.0 or ::, where one may listen, but which nobody can reach
    // What has it on this machine, such as "eth0" or "lo"; empty: nothing has.
    std::string network_interface() const;
    const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
    socklen_t size() const { return size_; }
    int family() const { return storage_.ss_family; }

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

// None of them blocks. They throw std::system_error; `connecting_socket` only if the connection
// cannot even begin (whether it comes about shows when the socket can be written to). Has the port,
// and does not listen there: who connects is refused.
FileDescriptor bound_socket(const SocketAddress& address);
FileDescriptor listening_socket(const SocketAddress& address);
FileDescriptor connecting_socket(const SocketAddress& address);
// Small messages that somebody waits for: no delay, which the kernel would else add to gather more.
void send_at_once(const FileDescriptor& socket);

}  // namespace ukemi
