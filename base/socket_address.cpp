#include "base/socket_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

namespace ukemi {

namespace {

[[noreturn]] void fail_socket(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

template <class Address>
Address read_as(const sockaddr_storage& storage) {
    Address address{};
    std::memcpy(&address, &storage, sizeof address);
    return address;
}

FileDescriptor stream_socket(int family) {
    FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) fail_socket("socket");
    return socket;
}

}  // namespace

std::optional<SocketAddress> SocketAddress::of_host(std::string_view host, std::uint16_t port) {
    const std::string text(host);
    SocketAddress address;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        address.size_ = sizeof four;
        std::memcpy(&address.storage_, &four, sizeof four);
    } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        address.size_ = sizeof six;
        std::memcpy(&address.storage_, &six, sizeof six);
    } else {
        return std::nullopt;
    }
    // Texts come from elsewhere: "127.0.0.1\0…" is none.
    if (text.find('\0') != std::string::npos) return std::nullopt;
    return address;
}

std::optional<SocketAddress> SocketAddress::of_text(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (in_brackets) host = host.substr(1, host.size() - 2);
    if (in_brackets != (host.find(':') != std::string_view::npos)) return std::nullopt;
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return of_host(host, port);
}

SocketAddress SocketAddress::of_socket(int socket) {
    SocketAddress address;
    address.size_ = sizeof address.storage_;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_) !=
        0) {
        fail_socket("getsockname");
    }
    return address;
}

std::string SocketAddress::host_at_other_end(int socket) {
    SocketAddress address;
    address.size_ = sizeof address.storage_;
    auto* const there = reinterpret_cast<sockaddr*>(&address.storage_);
    return ::getpeername(socket, there, &address.size_) == 0 ? address.host() : std::string();
}

std::string SocketAddress::host() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const auto four = read_as<sockaddr_in>(storage_);
    const auto six = read_as<sockaddr_in6>(storage_);
    const void* const bytes = family() == AF_INET ? static_cast<const void*>(&four.sin_addr)
                                                  : static_cast<const void*>(&six.sin6_addr);
    if (::inet_ntop(family(), bytes, text.data(), text.size()) == nullptr) return {};
    return text.data();
}

std::string SocketAddress::text() const {
    return family() == AF_INET6 ? fmt::format("[{}]:{}", host(), port())
                                : fmt::format("{}:{}", host(), port());
}

std::uint16_t SocketAddress::port() const {
    return ntohs(family() == AF_INET ? read_as<sockaddr_in>(storage_).sin_port
                                     : read_as<sockaddr_in6>(storage_).sin6_port);
}

bool SocketAddress::is_loopback() const {
    if (family() == AF_INET) {
        return ntohl(read_as<sockaddr_in>(storage_).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const auto six = read_as<sockaddr_in6>(storage_);
    return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

std::string SocketAddress::network_interface() const {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) fail_socket("getifaddrs");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> held(first, &::freeifaddrs);
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family()) continue;
        SocketAddress there;
        there.size_ = size();
        std::memcpy(&there.storage_, each->ifa_addr, there.size_);
        if (there.host() == host()) return each->ifa_name;
    }
    return {};
}

bool SocketAddress::is_any() const {
    if (family() == AF_INET) return read_as<sockaddr_in>(storage_).sin_addr.s_addr == INADDR_ANY;
    const auto six = read_as<sockaddr_in6>(storage_);
    return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

FileDescriptor bound_socket(const SocketAddress& address) {
    FileDescriptor socket = stream_socket(address.family());
    // A port that somebody named is taken again at once by who is started anew.
    const int on = 1;
    if (address.port() != 0) {
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (::bind(socket.get(), address.data(), address.size()) != 0) fail_socket("bind");
    return socket;
}

FileDescriptor listening_socket(const SocketAddress& address) {
    FileDescriptor socket = bound_socket(address);
    if (::listen(socket.get(), SOMAXCONN) != 0) fail_socket("listen");
    return socket;
}

FileDescriptor connecting_socket(const SocketAddress& address) {
    FileDescriptor socket = stream_socket(address.family());
    send_at_once(socket);
    if (::connect(socket.get(), address.data(), address.size()) != 0 && errno != EINPROGRESS) {
        fail_socket("connect");
    }
    return socket;
}

void send_at_once(const FileDescriptor& socket) {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace ukemi
