// secure_stream_test.cpp — both ends have the key, or nothing comes through.
#include "kernels/secure_stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

PresharedKey key_of(std::uint8_t number) {
    PresharedKey key{};
    key.fill(number);
    return key;
}

SecureStream::FindKey only(std::string name, std::uint8_t number) {
    return [=](std::string_view identity) -> std::optional<PresharedKey> {
        if (identity != name) return std::nullopt;
        return key_of(number);
    };
}

using ByteString = std::vector<std::byte>;

// Two streams, and somebody between them who sees all, and may change it.
class Wire {
public:
    Wire(std::uint8_t caller_key, std::string identity, std::uint8_t key,
         Protection protection = Protection::encrypted) {
        auto [near, near_wire] = socket_pair();
        auto [far, far_wire] = socket_pair();
        wires_[0] = std::move(near_wire);
        wires_[1] = std::move(far_wire);
        caller.emplace(std::move(near), "one", key_of(caller_key), protection);
        listener.emplace(std::move(far), only(std::move(identity), key), protection);
    }
    // Carries what there is from both ends to the other.
    void carry() {
        for (const std::size_t from : {0UL, 1UL}) {
            std::array<std::byte, 70'000> bytes{};
            const ssize_t got = ::recv(wires_[from].get(), bytes.data(), bytes.size(), 0);
            if (got <= 0) continue;
            ByteString seen(bytes.begin(), bytes.begin() + got);
            if (from == 0) recorded.insert(recorded.end(), seen.begin(), seen.end());
            if (change) change(from, seen);
            ::send(wires_[1 - from].get(), seen.data(), seen.size(), MSG_NOSIGNAL);
        }
    }
    // Whether both live.
    bool meet() {
        bool alive = true;
        for (int turn = 0; turn < 6; ++turn) {
            const bool near = caller->shake_hands();
            const bool far = listener->shake_hands();
            alive = near && far;
            carry();
        }
        return alive;
    }
    std::optional<SecureStream> caller;
    std::optional<SecureStream> listener;
    std::function<void(std::size_t from, ByteString&)> change;
    ByteString recorded;  // of the caller's

private:
    std::array<FileDescriptor, 2> wires_;
};

ByteString pattern(std::size_t count) {
    ByteString bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
    return bytes;
}

// What `to` has read after all that `from` wrote has been carried; false in the end if it failed.
bool send_all(Wire& wire, SecureStream& from, SecureStream& to, const ByteString& sent,
              ByteString& read) {
    if (!from.write(sent)) return false;
    read.resize(sent.size());
    std::size_t have = 0;
    for (int turn = 0; turn < 2000 && have < sent.size(); ++turn) {
        if (!from.flush()) return false;
        wire.carry();
        std::size_t got = 0;
        if (!to.read(std::span(read).subspan(have), got)) return false;
        have += got;
    }
    read.resize(have);
    return true;
}

}  // namespace

TEST_CASE("secure stream: with one key both ends open, and every byte comes through, both ways",
          "[secure_stream]") {
    Wire wire(7, "one", 7);
    REQUIRE(wire.meet());
    CHECK(wire.caller->is_open());
    CHECK(wire.listener->is_open());
    CHECK(wire.listener->identity() == "one");
    for (const std::size_t count : {1UL, 16'384UL, 16'385UL, 300'000UL}) {
        const ByteString sent = pattern(count);
        ByteString read;
        CHECK(send_all(wire, *wire.caller, *wire.listener, sent, read));
        CHECK(read == sent);
        CHECK(send_all(wire, *wire.listener, *wire.caller, sent, read));
        CHECK(read == sent);
    }
    // Not as it was: somebody between them does not read it.
    const ByteString word = pattern(64);
    CHECK(std::search(wire.recorded.begin(), wire.recorded.end(), word.begin(), word.end()) ==
          wire.recorded.end());
}

TEST_CASE("secure stream: without the key, or with a name that nobody expects, neither end opens",
          "[secure_stream]") {
    for (const bool other_name : {false, true}) {
        Wire wire(7, other_name ? "two" : "one", other_name ? 7 : 8);
        CHECK_FALSE(wire.meet());
        CHECK_FALSE(wire.caller->is_open());
        CHECK_FALSE(wire.listener->is_open());
        CHECK(wire.listener->was_violated());
        CHECK(wire.caller->was_violated());
        CHECK(wire.listener->problem() == "it has not shown the group's key");
    }
}

TEST_CASE("secure stream: what was once said opens nothing when it is said again",
          "[secure_stream]") {
    Wire first(7, "one", 7);
    REQUIRE(first.meet());
    ByteString read;
    CHECK(send_all(first, *first.caller, *first.listener, pattern(100), read));
    auto [far, replayer] = socket_pair();
    SecureStream again(std::move(far), only("one", 7));
    ::send(replayer.get(), first.recorded.data(), first.recorded.size(), MSG_NOSIGNAL);
    for (int turn = 0; turn < 4; ++turn) {
        std::size_t got = 0;
        ByteString stolen(100);
        [[maybe_unused]] const bool alive = again.read(stolen, got);
        CHECK(got == 0);
        CHECK_FALSE(again.is_open());
    }
    CHECK(again.was_violated());
}

TEST_CASE("secure stream: one changed bit ends the connection, and nothing false is read",
          "[secure_stream]") {
    const ByteString sent = pattern(500);
    for (std::size_t place = 0; place < 522; place += 29) {  // of a record of 500 bytes
        CAPTURE(place);
        Wire wire(7, "one", 7);
        REQUIRE(wire.meet());
        wire.change = [&](std::size_t from, ByteString& bytes) {
            if (from == 0) bytes.at(std::min(place, bytes.size() - 1)) ^= std::byte{1};
        };
        REQUIRE(wire.caller->write(sent));
        REQUIRE(wire.caller->flush());
        wire.carry();
        ByteString read(500);
        std::size_t got = 0;
        // A changed length makes it wait for bytes that never come; everything else ends it.
        const bool alive = wire.listener->read(read, got);
        CHECK(got == 0);
        CHECK((!alive || place < 5));
    }
}

TEST_CASE("secure stream: with a protected handshake only, bytes go as they are, both ways",
          "[secure_stream]") {
    Wire wire(7, "one", 7, Protection::handshake_only);
    REQUIRE(wire.meet());
    CHECK(wire.caller->is_open());
    CHECK(wire.listener->is_open());
    for (const std::size_t count : {1UL, 16'384UL, 16'385UL, 300'000UL}) {
        const ByteString sent = pattern(count);
        ByteString read;
        CHECK(send_all(wire, *wire.caller, *wire.listener, sent, read));
        CHECK(read == sent);
        CHECK(send_all(wire, *wire.listener, *wire.caller, sent, read));
        CHECK(read == sent);
    }
    const ByteString word = pattern(64);
    CHECK(std::search(wire.recorded.begin(), wire.recorded.end(), word.begin(), word.end()) !=
          wire.recorded.end());
}

TEST_CASE("secure stream: without the key no plain stream opens either", "[secure_stream]") {
    for (const bool other_name : {false, true}) {
        Wire wire(7, other_name ? "two" : "one", other_name ? 7 : 8, Protection::handshake_only);
        CHECK_FALSE(wire.meet());
        CHECK_FALSE(wire.caller->is_open());
        CHECK_FALSE(wire.listener->is_open());
        CHECK(wire.listener->was_violated());
    }
}

TEST_CASE(
    "secure stream: lent bytes go in their place, whether somebody waits for their end or not",
    "[secure_stream]") {
    for (const Protection protection : {Protection::encrypted, Protection::handshake_only}) {
        Wire wire(7, "one", 7, protection);
        REQUIRE(wire.meet());
        const ByteString head = pattern(24);
        const ByteString body = pattern(500'000);  // more than the socket takes at once
        const ByteString tail = pattern(100);
        ByteString sent = head;
        sent.insert(sent.end(), body.begin(), body.end());
        sent.insert(sent.end(), tail.begin(), tail.end());
        REQUIRE(wire.caller->write(head));
        {
            const ByteString gone_soon = body;
            REQUIRE(wire.caller->lend(gone_soon));
            REQUIRE(wire.caller->flush());
            CHECK(wire.caller->wants_to_write());
            REQUIRE(wire.caller->write(tail));  // from here on nothing is lent
        }
        ByteString read(sent.size());
        std::size_t have = 0;
        for (int turn = 0; turn < 2000 && have < sent.size(); ++turn) {
            REQUIRE(wire.caller->flush());
            wire.carry();
            std::size_t got = 0;
            REQUIRE(wire.listener->read(std::span(read).subspan(have), got));
            have += got;
        }
        CHECK(read == sent);
        CHECK_FALSE(wire.caller->wants_to_write());
    }
}

TEST_CASE("secure stream: the end of a plain stream comes after its last bytes",
          "[secure_stream]") {
    auto [near, far] = socket_pair();
    std::optional<SecureStream> caller(
        SecureStream(std::move(near), "one", key_of(7), Protection::handshake_only));
    SecureStream listener(std::move(far), only("one", 7), Protection::handshake_only);
    for (int turn = 0; turn < 4; ++turn) {
        REQUIRE(caller->shake_hands());
        REQUIRE(listener.shake_hands());
    }
    const ByteString sent = pattern(1000);
    REQUIRE(caller->write(sent));
    REQUIRE(caller->flush());
    caller.reset();
    ByteString read(2000);
    std::size_t got = 0;
    CHECK(listener.read(read, got));
    CHECK(got == 1000);
    CHECK_FALSE(listener.read(read, got));
    CHECK(got == 0);
    CHECK_FALSE(listener.was_violated());
    CHECK(listener.problem() == "it closed its connection");
}

TEST_CASE("secure stream: an end is told from a violation", "[secure_stream]") {
    Wire wire(7, "one", 7);
    REQUIRE(wire.meet());
    wire.caller.reset();
    auto [far, nobody] = socket_pair();
    SecureStream waiting(std::move(far), only("one", 7));
    CHECK(waiting.shake_hands());
    nobody.reset();
    CHECK_FALSE(waiting.shake_hands());
    CHECK_FALSE(waiting.was_violated());
    CHECK(waiting.problem() == "it closed its connection");
    const std::array<std::uint8_t, 3> secret{1, 2, 3};
    CHECK(derived_key(secret, "a") != derived_key(secret, "b"));
    CHECK(derived_key(secret, "a") == derived_key(secret, "a"));
}

TEST_CASE("secure stream: what comes with the last word of the handshake is read with it",
          "[secure_stream]") {
    const Protection protection = GENERATE(Protection::encrypted, Protection::handshake_only);
    Wire wire(7, "one", 7, protection);
    CHECK(wire.caller->shake_hands());
    wire.carry();
    CHECK(wire.listener->shake_hands());
    wire.carry();
    CHECK(wire.caller->shake_hands());
    REQUIRE(wire.caller->is_open());
    const ByteString sent = pattern(100);
    REQUIRE(wire.caller->write(sent));
    REQUIRE(wire.caller->flush());
    wire.carry();
    CHECK_FALSE(wire.listener->is_open());
    ByteString read(100);
    std::size_t got = 0;
    CHECK(wire.listener->read(read, got));
    CHECK(got == 100);
    CHECK(read == sent);
}
