#include "base/spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace ukemi {

namespace {

int file_without_name(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    // Not every file system has such files: one that is named for a moment.
    std::string name = (folder / ".spool-XXXXXX").string();
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(name.c_str());
    return named;
}

}  // namespace

Spool::Spool(std::filesystem::path folder)
    : folder_(std::move(folder)), descriptor_(file_without_name(folder_)) {
    if (descriptor_ < 0) fail(errno);
}

Spool::~Spool() { ::close(descriptor_); }

void Spool::fail(int error) const {
    throw std::system_error(error, std::generic_category(),
                            fmt::format("cannot keep rows in {}", folder_.string()));
}

std::size_t Spool::add(std::string_view text) {
    const std::scoped_lock alone(adding_);
    const std::size_t begin = size_;
    while (!text.empty()) {
        const ssize_t count =
            ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(size_));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(errno);
        text.remove_prefix(static_cast<std::size_t>(count));
        size_ += static_cast<std::size_t>(count);
    }
    return begin;
}

void Spool::read(std::size_t begin, std::size_t size, const TextTaker& take) const {
    std::string piece(std::min(size, std::size_t{64} << 10), '\0');
    while (size > 0) {
        const ssize_t count = ::pread(descriptor_, piece.data(), std::min(size, piece.size()),
                                      static_cast<off_t>(begin));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) fail(count < 0 ? errno : EIO);
        const auto read = static_cast<std::size_t>(count);
        take(std::string_view(piece).substr(0, read));
        begin += read;
        size -= read;
    }
}

void SpooledText::add(std::string_view text) {
    if (text.empty()) return;
    const std::size_t begin = spool_->add(text);
    const bool goes_on = !parts_.empty() && parts_.back().begin + parts_.back().size == begin;
    if (goes_on) {
        parts_.back().size += text.size();
    } else {
        parts_.push_back({begin, text.size()});
    }
}

void SpooledText::give(const TextTaker& take) const {
    for (const Part& part : parts_) spool_->read(part.begin, part.size, take);
}

}  // namespace ukemi
