// connection.hpp — messages over one stream socket that never blocks.
//
// Its owner polls the descriptor and calls `receive` and `flush`. Both return why the
// connection is over, or nothing. What cannot be written yet is kept: a caller that can produce
// without end looks at `unsent_bytes` first.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "runtime/messages.hpp"

namespace ukemi::runtime {

class Connection {
public:
    // `bytes_max`: of one frame, and of all unread bytes, as long as the other side is a stranger.
    Connection(FileDescriptor socket, std::size_t bytes_max);

    int descriptor() const { return socket_.get(); }
    bool wants_to_write() const { return sent_ < pending_.size(); }
    std::size_t unsent_bytes() const { return pending_.size() - sent_; }

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
    FileDescriptor socket_;
    std::size_t bytes_max_;
    ByteString unread_;
    std::size_t taken_ = 0;  // of unread_
    ByteString pending_;
    std::size_t sent_ = 0;  // of pending_
};

}  // namespace ukemi::runtime
