#include "runtime/program_call.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace ukemi::runtime {

ProgramCall::ProgramCall(std::string program, const std::string& input, Limits limits)
    : program_(std::move(program)),
      limits_(limits),
      end_(std::chrono::steady_clock::now() + limits.time) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    reading_ = FileDescriptor(ends[0]);
    const FileDescriptor writing(ends[1]);
    ::fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
    ProcessOrder order;
    order.program = program_;
    order.input = input;
    order.output = writing.get();
    process_.emplace(order);
}

std::optional<ProgramCall::Answer> ProgramCall::failed(const std::string& why) const {
    return Answer{text_, fmt::format("{}: {}", program_, why)};
}

bool ProgramCall::read_all() {
    std::array<char, 4096> bytes{};
    while (open_) {
        const ssize_t got = ::read(reading_.get(), bytes.data(), bytes.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
        open_ = got > 0;
        if (got > 0) text_.append(bytes.data(), static_cast<std::size_t>(got));
        if (text_.size() > limits_.bytes) return false;
    }
    return true;
}

std::optional<ProgramCall::Answer> ProgramCall::look() {
    if (!read_all()) {
        process_.reset();
        return failed(fmt::format("printed more than {} KiB", limits_.bytes >> 10));
    }
    if (!how_) how_ = process_->ended();
    if (open_ || !how_) {
        if (std::chrono::steady_clock::now() < end_) return std::nullopt;
        process_.reset();
        const std::chrono::duration<double> time = limits_.time;
        return failed(fmt::format("did not answer within {} s", time.count()));
    }
    if (*how_ != "ended with status 0") return failed(*how_);
    return Answer{text_, {}};
}

void ProgramCall::wait(std::chrono::milliseconds at_most) const {
    constexpr std::chrono::milliseconds blind{20};  // where the kernel does not tell of its end
    pollfd descriptor{open_ ? reading_.get() : process_->descriptor(), POLLIN, 0};
    if (descriptor.fd < 0) at_most = std::min(at_most, blind);
    ::poll(&descriptor, 1, static_cast<int>(at_most.count()));
}

}  // namespace ukemi::runtime
