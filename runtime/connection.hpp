// connection.hpp — messages over one stream socket that never blocks: encrypted and authenticated
// (kernels/secure_stream.hpp), or plain for what stays on this machine.
//
// Its owner polls the descriptor and calls `receive` and `flush`. Both return why the
// connection is over, or nothing. What cannot be written yet is kept: a caller that can produce
// without end looks at `unsent_bytes` first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "kernels/secure_stream.hpp"
#include "runtime/messages.hpp"

namespace ukemi::runtime {

class Connection {
public:
    // `bytes_max`: of one frame, and of all unread bytes, as long as the other side is a stranger.
    Connection(FileDescriptor socket, std::size_t bytes_max);
    Connection(kernels::SecureStream stream, std::size_t bytes_max);

    int descriptor() const { return secure_ ? secure_->descriptor() : socket_.get(); }
    bool wants_to_write() const;
    std::size_t unsent_bytes() const;
    // The other side has begun to prove that it is no stranger; who it is. Plain ones never do.
    bool is_expected() const { return secure_ && secure_->is_expected(); }
    // It began to, as somebody whom this end knows, and did not have the key.
    bool has_wrong_key() const { return secure_ && secure_->was_violated() && !identity().empty(); }
    std::string identity() const { return secure_ ? secure_->identity() : std::string(); }

    // Adds what has arrived. Complete messages before the end of a connection are still delivered.
    // At most `messages_max` at once; there may be more then, without the descriptor saying so.
    std::optional<std::string> receive(std::vector<Message>& messages,
                                       std::size_t messages_max = 4096);
    // From now on frames may be as long as any.
    void trust() { bytes_max_ = frame_bytes_max; }
    std::optional<std::string> send(const Message& message);
    std::optional<std::string> flush();

private:
    std::optional<std::string> take_frames(std::vector<Message>& messages,
                                           std::size_t messages_max);
    std::optional<std::string> flush_plain();
    std::optional<std::string> flush_secure();
    std::optional<std::string> read_some(std::span<std::uint8_t> buffer, std::size_t& got);
    FileDescriptor socket_;  // of a plain one
    std::optional<kernels::SecureStream> secure_;
    std::size_t bytes_max_;
    ByteString unread_;
    std::size_t taken_ = 0;  // of unread_
    ByteString pending_;
    std::size_t sent_ = 0;  // of pending_
};

}  // namespace ukemi::runtime
