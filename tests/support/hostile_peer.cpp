#include "tests/support/hostile_peer.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/secure_stream.hpp"

namespace ukemi {

namespace {

constexpr std::size_t held_max = 100;
constexpr int connect_ms = 1000;

// The record of a TLS handshake: its length, and what is said to be in it.
std::string record(std::size_t length, std::string body) {
    std::string text{"\x16\x03\x01", 3};
    text += static_cast<char>(length >> 8);
    text += static_cast<char>(length & 0xFFU);
    return text + std::move(body);
}

enum class Beginning {
    silence,
    zeros,
    ones,
    http,
    huge_record,
    huge_hello,
    half_hello,
    plain_hello,
    other_key,
    other_name
};
constexpr std::array<std::string_view, 10> beginnings{
    "silence",    "zeros",      "ones",        "HTTP",      "a huge record",
    "huge hello", "half hello", "plain hello", "other key", "other name"};
constexpr std::array<std::string_view, 3> endings{"closes", "resets", "holds"};

std::string said_by(Beginning beginning) {
    switch (beginning) {
        case Beginning::zeros: return std::string(5000, '\0');
        case Beginning::ones: return std::string(5000, '\xFF');
        case Beginning::http: return "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
        case Beginning::huge_record: return record(0xFFFF, std::string(70'000, 'x'));
        // A client's greeting that says it has 16 MiB.
        case Beginning::huge_hello:
            return record(0x4000, "\x01\xFF\xFF\xFF" + std::string(400, 'x'));
        case Beginning::half_hello: return record(512, std::string("\x01\x00\x01\xFC\x03\x03", 6));
        case Beginning::plain_hello:
            return std::string("\x2D\0\0\0\0\x02\0\0\0", 9) + std::string(40, 's');
        default: return {};
    }
}

// Says as much of a true greeting as comes without an answer, and then hears a little.
void greet(kernels::SecureStream& stream) {
    for (int turn = 0; turn < 2 && stream.shake_hands(); ++turn) {
        pollfd answer{stream.descriptor(), POLLIN, 0};
        ::poll(&answer, 1, 1);
    }
}

}  // namespace

bool HostilePeers::knock(const SocketAddress& at) {
    const std::size_t number = connections_ % kinds;
    const auto beginning = static_cast<Beginning>(number / endings.size());
    const std::size_t ending = number % endings.size();
    ++connections_;
    FileDescriptor socket;
    try {
        socket = connecting_socket(at);
    } catch (const std::system_error&) {
        return false;
    }
    pollfd connected{socket.get(), POLLOUT, 0};
    ::poll(&connected, 1, connect_ms);
    if ((connected.revents & (POLLERR | POLLHUP)) != 0 || connected.revents == 0) return false;
    if (ending == 1) {
        const linger at_once{1, 0};
        ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    if (beginning == Beginning::other_key || beginning == Beginning::other_name) {
        const bool named = beginning == Beginning::other_key;  // as one of ours, with a guessed key
        FileDescriptor copy(::dup(socket.get()));
        kernels::SecureStream stream(std::move(copy), named ? "ukemi worker 0" : "somebody",
                                     kernels::PresharedKey{});
        greet(stream);
    } else {
        const std::string text = said_by(beginning);
        ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ++by_kind_[std::string(beginnings[static_cast<std::size_t>(beginning)]) + ", " +
               std::string(endings[ending])];
    if (ending == 2) held_.push_back(std::move(socket));
    if (held_.size() > held_max) held_.pop_front();
    return true;
}

std::size_t HostilePeers::still_held() {
    std::erase_if(held_, [](const FileDescriptor& socket) {
        std::array<char, 4096> bytes{};
        ssize_t got = 1;
        while (got > 0) got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        return got == 0 || errno != EAGAIN;
    });
    return held_.size();
}

}  // namespace ukemi
