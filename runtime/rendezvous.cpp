// rendezvous.cpp — the listening socket, the strangers before it, and the invitation.
#include "runtime/rendezvous.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace ukemi::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t strangers_max = 32;
constexpr auto stranger_time = 1s;
constexpr auto pause_without_descriptors = 50ms;

constexpr const char* rendezvous_variable = "UKEMI_RENDEZVOUS";
constexpr const char* worker_variable = "UKEMI_WORKER";
constexpr const char* secret_variable = "UKEMI_SECRET";

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// Small messages that somebody waits for: no delay, which the kernel would else add to gather more.
void send_at_once(int descriptor) {
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Whole and decimal, or nothing.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<Secret> secret_in(std::string_view text) {
    Secret secret{};
    if (text.size() != 2 * secret.size()) return std::nullopt;
    for (std::size_t i = 0; i < secret.size(); ++i) {
        const char* begin = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(begin, begin + 2, secret[i], 16);
        if (error != std::errc() || end != begin + 2) return std::nullopt;
    }
    return secret;
}

std::optional<std::uint16_t> port_in(std::string_view text) {
    constexpr std::string_view host = "127.0.0.1:";
    if (!text.starts_with(host)) return std::nullopt;
    return number_in<std::uint16_t>(text.substr(host.size()));
}

}  // namespace

Secret random_secret() {
    Secret secret{};
    std::size_t filled = 0;
    while (filled < secret.size()) {
        const ssize_t got = ::getrandom(secret.data() + filled, secret.size() - filled, 0);
        if (got < 0 && errno != EINTR) fail("getrandom");
        if (got > 0) filled += static_cast<std::size_t>(got);
    }
    return secret;
}

bool same_secret(const Secret& left, const Secret& right) {
    unsigned difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        difference |= static_cast<unsigned>(left[i]) ^ static_cast<unsigned>(right[i]);
    }
    return difference == 0;
}

std::vector<std::string> environment_of(const Invitation& invitation) {
    std::string secret;
    for (const std::uint8_t byte : invitation.secret) secret += fmt::format("{:02x}", byte);
    return {fmt::format("{}=127.0.0.1:{}", rendezvous_variable, invitation.port),
            fmt::format("{}={}", worker_variable, invitation.worker),
            fmt::format("{}={}", secret_variable, secret)};
}

TakenInvitation take_invitation() {
    const char* rendezvous = std::getenv(rendezvous_variable);
    const char* worker = std::getenv(worker_variable);
    char* secret = std::getenv(secret_variable);
    const auto problem = [](const char* name, const char* expected) {
        return TakenInvitation{std::nullopt, fmt::format("{}: expected {}", name, expected)};
    };
    const auto parsed_secret = secret == nullptr ? std::nullopt : secret_in(secret);
    if (secret != nullptr) {
        ::explicit_bzero(secret, std::strlen(secret));
        ::unsetenv(secret_variable);
    }
    if (!parsed_secret) return problem(secret_variable, "64 hexadecimal digits");
    const auto port = rendezvous == nullptr ? std::nullopt : port_in(rendezvous);
    if (!port) return problem(rendezvous_variable, "127.0.0.1:port");
    const auto number = worker == nullptr ? std::nullopt : number_in<std::uint32_t>(worker);
    if (!number) return problem(worker_variable, "a worker's number");
    return {Invitation{*port, *number, *parsed_secret}, {}};
}

Connection accept_invitation(const Invitation& invitation) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) fail("socket");
    const sockaddr_in address = loopback(invitation.port);
    // Blocking: on this machine, it is there or it is not.
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail("connect");
    }
    send_at_once(socket.get());
    if (::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
    Connection connection(std::move(socket), frame_bytes_max);
    Hello hello;
    hello.worker = invitation.worker;
    hello.process = ::getpid();
    hello.secret = invitation.secret;
    if (connection.send(hello)) fail("send");
    return connection;
}

Door::Door()
    : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      secret_(random_secret()) {
    if (!listening_) fail("socket");
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listening_.get(), generic, size) != 0) fail("bind");
    if (::listen(listening_.get(), SOMAXCONN) != 0) fail("listen");
    if (::getsockname(listening_.get(), generic, &size) != 0) fail("getsockname");
    port_ = ntohs(address.sin_port);
}

void Door::watch(std::vector<pollfd>& descriptors) const {
    if (Clock::now() >= closed_until_) descriptors.push_back({listening_.get(), POLLIN, 0});
    for (const Stranger& stranger : strangers_) {
        descriptors.push_back({stranger.connection.descriptor(), POLLIN, 0});
    }
}

Moment Door::next_deadline() const {
    Moment next = Moment::max();
    for (const Stranger& stranger : strangers_) next = std::min(next, stranger.deadline);
    return Clock::now() < closed_until_ ? std::min(next, closed_until_) : next;
}

void Door::accept_all(Moment now) {
    if (now < closed_until_) return;
    for (std::size_t i = 0; i < strangers_max; ++i) {
        FileDescriptor socket(
            ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            const bool none_waits = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
            if (!none_waits) closed_until_ = now + pause_without_descriptors;
            return;
        }
        send_at_once(socket.get());
        if (strangers_.size() == strangers_max) strangers_.erase(strangers_.begin());
        strangers_.push_back({Connection(std::move(socket), hello_bytes_max), now + stranger_time});
    }
}

std::vector<Door::Guest> Door::admit(Moment now) {
    accept_all(now);
    std::vector<Guest> guests;
    std::vector<Stranger> waiting;
    for (Stranger& stranger : strangers_) {
        std::vector<Message> messages;
        const auto problem = stranger.connection.receive(messages, 1);
        if (messages.empty()) {
            if (!problem && now < stranger.deadline) waiting.push_back(std::move(stranger));
            continue;
        }
        const auto* hello = std::get_if<Hello>(&messages.front());
        if (hello == nullptr || hello->protocol != protocol_version ||
            !same_secret(hello->secret, secret_)) {
            continue;
        }
        stranger.connection.trust();
        guests.push_back({*hello, std::move(stranger.connection)});
    }
    strangers_ = std::move(waiting);
    return guests;
}

}  // namespace ukemi::runtime
