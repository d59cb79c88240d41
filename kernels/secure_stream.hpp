// secure_stream.hpp — a stream socket between two ends that have a key in common: TLS 1.3 with a
// key that both have beforehand and fresh keys for each connection (PSK with X25519), by OpenSSL.
//
// What goes through it is encrypted and authenticated both ways; who does not have the key can
// neither join, nor read, nor change or repeat a byte unnoticed: its connection is over, and
// nothing else happens. Where only the handshake is protected, nobody joins without the key either,
// but who can read or change what goes over the wire can do that: for the loopback, and networks
// that are trusted. Nothing here blocks: the owner polls the descriptor and calls again. One thread
// at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace ukemi::kernels {

using PresharedKey = std::array<std::uint8_t, 32>;

// A key that follows from `secret` for one purpose; from the key nobody finds the secret, nor the
// key of another purpose (HMAC-SHA-256).
PresharedKey derived_key(std::span<const std::uint8_t> secret, std::string_view purpose);

// Both ends of a stream must have the same; neither tells the other.
enum class Protection : std::uint8_t { encrypted, handshake_only };

class SecureStream {
public:
    // The key that belongs to an identity; nothing for one that is not expected.
    using FindKey = std::function<std::optional<PresharedKey>(std::string_view identity)>;

    // For the end that connected: the socket may still be connecting. Up to 128 characters.
    SecureStream(FileDescriptor socket, std::string identity, const PresharedKey& key,
                 Protection protection = Protection::encrypted);
    // For the end that accepted.
    SecureStream(FileDescriptor socket, FindKey find_key,
                 Protection protection = Protection::encrypted);
    SecureStream(SecureStream&&) noexcept;
    SecureStream& operator=(SecureStream&&) noexcept;
    ~SecureStream();

    int descriptor() const;
    Protection protection() const;
    bool is_open() const;  // the other end has shown that it has the key
    // The other end has begun with an identity and a proof of its key: no mere stranger (but maybe
    // somebody who repeats what one of us once said: hence not yet open).
    bool is_expected() const;
    const std::string& identity() const;  // what the connecting end said; empty until then
    bool wants_to_write() const;          // what is encrypted has not all gone
    std::size_t unsent_bytes() const;
    // Why it is over. What the other end did wrong (no key, damaged bytes) and not its leaving.
    const std::string& problem() const;
    bool was_violated() const;
    bool was_refused() const;  // nobody listens there, or there is no way

    // Each does what can be done now, and says whether the connection lives.
    bool shake_hands();
    bool read(std::span<std::byte> into, std::size_t& got);  // got = 0: nothing is there now
    // Encrypts all of `bytes`, which need not live any longer; `flush` sends what the kernel takes.
    // Where sending fails, what the other end said before may still be read.
    bool write(std::span<const std::byte> bytes);
    // As `write`, of bytes that stay as they are until the stream no longer wants to write, or
    // something else is written: where nothing is encrypted they are not copied.
    bool lend(std::span<const std::byte> bytes);
    bool flush();
    void end_writing();  // the other end sees the end of the stream, once it is flushed

private:
    friend struct SecureStreamCallbacks;
    struct State;
    bool read_plain(std::span<std::byte> into, std::size_t& got);
    std::unique_ptr<State> state_;
};

}  // namespace ukemi::kernels
