// connection.cpp — reads and writes without waiting, and cuts the stream into frames.
#include "runtime/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace ukemi::runtime {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t write_bytes = 64 * 1024;  // encrypted at once

std::string error_text(int code) { return std::generic_category().message(code); }

bool is_for_later(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

std::size_t length_at(const ByteString& bytes, std::size_t at) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) {
        length |= static_cast<std::size_t>(bytes[at + i]) << (8 * i);
    }
    return length;
}

}  // namespace

Connection::Connection(FileDescriptor socket, std::size_t bytes_max)
    : socket_(std::move(socket)), bytes_max_(bytes_max) {}

Connection::Connection(kernels::SecureStream stream, std::size_t bytes_max)
    : secure_(std::move(stream)), bytes_max_(bytes_max) {
    // Begins; from then on only `receive` takes bytes, so that none lie here unheard. That it is
    // over shows there, too.
    [[maybe_unused]] const bool alive = secure_->shake_hands();
}

bool Connection::wants_to_write() const {
    if (!secure_) return sent_ < pending_.size();
    // Before it is open, what we have to say waits for the other end.
    return secure_->wants_to_write() || (secure_->is_open() && sent_ < pending_.size());
}

std::size_t Connection::unsent_bytes() const {
    return pending_.size() - sent_ + (secure_ ? secure_->unsent_bytes() : 0);
}

std::optional<std::string> Connection::take_frames(std::vector<Message>& messages,
                                                   std::size_t messages_max) {
    std::optional<std::string> problem;
    while (messages.size() < messages_max && unread_.size() - taken_ >= length_bytes) {
        const std::size_t length = length_at(unread_, taken_);
        if (length > bytes_max_) {
            problem = "it sent a frame that is too long";
            break;
        }
        if (unread_.size() - taken_ - length_bytes < length) break;
        Decoded decoded = decode(std::span(unread_).subspan(taken_ + length_bytes, length));
        if (!decoded.message) {
            problem = "it sent " + decoded.problem;
            break;
        }
        messages.push_back(std::move(*decoded.message));
        taken_ += length_bytes + length;
    }
    if (taken_ == unread_.size()) {
        unread_.clear();
        taken_ = 0;
    } else if (taken_ > read_bytes) {
        unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(taken_));
        taken_ = 0;
    }
    return problem;
}

std::optional<std::string> Connection::receive(std::vector<Message>& messages,
                                               std::size_t messages_max) {
    std::array<std::uint8_t, read_bytes> buffer;
    while (true) {
        if (auto problem = take_frames(messages, messages_max)) return problem;
        if (messages.size() >= messages_max) return std::nullopt;
        const std::size_t room = std::min(buffer.size(), bytes_max_ + length_bytes);
        std::size_t got = 0;
        if (auto problem = read_some(std::span(buffer).first(room), got)) return problem;
        if (got == 0) return std::nullopt;
        unread_.insert(unread_.end(), buffer.begin(),
                       buffer.begin() + static_cast<std::ptrdiff_t>(got));
    }
}

// Nothing got: there is nothing now.
std::optional<std::string> Connection::read_some(std::span<std::uint8_t> buffer, std::size_t& got) {
    if (secure_) {
        if (secure_->read(std::as_writable_bytes(buffer), got)) return std::nullopt;
        return secure_->problem();
    }
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count == 0) return "it closed its connection";
    if (count < 0 && is_for_later(errno)) return std::nullopt;
    if (count < 0) return "its connection failed: " + error_text(errno);
    got = static_cast<std::size_t>(count);
    return std::nullopt;
}

std::optional<std::string> Connection::send(const Message& message) {
    const ByteString frame = encode(message);
    pending_.insert(pending_.end(), frame.begin(), frame.end());
    return flush();
}

std::optional<std::string> Connection::flush() { return secure_ ? flush_secure() : flush_plain(); }

std::optional<std::string> Connection::flush_secure() {
    while (secure_->flush() && !secure_->wants_to_write() && secure_->is_open()) {
        if (sent_ == pending_.size()) {
            pending_.clear();
            sent_ = 0;
            return std::nullopt;
        }
        const auto left = std::as_bytes(std::span(pending_)).subspan(sent_);
        const auto part = left.first(std::min(left.size(), write_bytes));
        if (!secure_->write(part)) return secure_->problem();
        sent_ += part.size();
    }
    // A connection that fails while it is written to shows its end when it is read from.
    return std::nullopt;
}

std::optional<std::string> Connection::flush_plain() {
    while (wants_to_write()) {
        const ssize_t sent = ::send(socket_.get(), pending_.data() + sent_, pending_.size() - sent_,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && is_for_later(errno)) return std::nullopt;
        if (sent < 0) return "its connection failed: " + error_text(errno);
        sent_ += static_cast<std::size_t>(sent);
    }
    pending_.clear();
    sent_ = 0;
    return std::nullopt;
}

}  // namespace ukemi::runtime
