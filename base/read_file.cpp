// read_file.cpp — files in and out through POSIX, because streams do not say why they failed. Reads
// in pieces and stops at the limit, so that a huge file costs no memory.
#include "base/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_kind.hpp"
#include "base/files_read.hpp"
#include "base/input_error.hpp"
#include "base/input_files.hpp"
#include "base/invariant.hpp"
#include "base/text_pieces.hpp"

namespace ukemi {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse(const std::filesystem::path& file, std::string_view problem) {
    throw InputError(file.string(), "", problem);
}

[[noreturn]] void refuse_size(const std::filesystem::path& file, std::size_t bytes_max,
                              std::string_view when) {
    refuse(file, fmt::format("expected at most {} bytes{}, found more", bytes_max, when));
}

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int operator*() const { return number_; }

private:
    int number_;
};

// As read(2), but a signal does not interrupt it; -1 where there is nothing to read yet.
ssize_t read_piece(const std::filesystem::path& file, int descriptor, std::string& piece) {
    while (true) {
        const ssize_t count = ::read(descriptor, piece.data(), piece.size());
        if (count >= 0 || errno == EAGAIN) return count;
        if (errno != EINTR) refuse(file, fmt::format("cannot be read: {}", reason(errno)));
    }
}

std::string read_raw(const std::filesystem::path& file, std::size_t bytes_max) {
    // Without O_NONBLOCK, opening a pipe waits for somebody who writes, maybe for ever.
    const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (*descriptor < 0) refuse(file, fmt::format("cannot be opened: {}", reason(errno)));
    struct stat status {};
    if (::fstat(*descriptor, &status) != 0) {
        refuse(file, fmt::format("cannot be read: {}", reason(errno)));
    }
    if (S_ISDIR(status.st_mode)) refuse(file, "expected a file, found a directory");
    if (S_ISBLK(status.st_mode)) refuse(file, "expected a file, found a device");
    InputFiles::note(status);
    std::string text;
    if (S_ISREG(status.st_mode)) {  // so that it is not copied while it grows
        text.reserve(std::min(bytes_max, static_cast<std::size_t>(status.st_size)));
    }
    std::string piece(std::size_t{64} << 10, '\0');
    ssize_t count = read_piece(file, *descriptor, piece);
    if (count == 0 && S_ISFIFO(status.st_mode)) {
        refuse(file, "expected a file, found a pipe to which nobody writes");
    }
    // A pipe that somebody writes to, or a terminal: what comes is waited for.
    const int flags = ::fcntl(*descriptor, F_GETFL);
    if (flags == -1 || ::fcntl(*descriptor, F_SETFL, flags & ~O_NONBLOCK) == -1) {
        refuse(file, fmt::format("cannot be read: {}", reason(errno)));
    }
    while (count != 0) {
        const auto size = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        if (size > bytes_max - text.size()) refuse_size(file, bytes_max, "");
        text.append(piece, 0, size);
        count = read_piece(file, *descriptor, piece);
    }
    return text;
}

class Inflater {
public:
    Inflater() { INVARIANT(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK); }  // 16: gzip only
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    z_stream& operator*() { return stream_; }

private:
    z_stream stream_{};
};

bool is_gzip(std::string_view text) { return text.starts_with("\x1f\x8b"); }

// A gzip file is one or more members, one after the other (RFC 1952).
std::string inflate_all(const std::filesystem::path& file, std::string_view packed,
                        std::size_t bytes_max) {
    Inflater inflater;
    z_stream& stream = *inflater;
    std::string text;
    std::string piece(std::size_t{64} << 10, '\0');
    while (true) {
        const std::size_t given = std::min<std::size_t>(packed.size(), std::size_t{1} << 30);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
        stream.avail_in = static_cast<uInt>(given);
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        const int outcome = inflate(&stream, Z_NO_FLUSH);
        packed.remove_prefix(given - stream.avail_in);
        const std::size_t count = piece.size() - stream.avail_out;
        if (count > bytes_max - text.size()) refuse_size(file, bytes_max, " after inflating");
        text.append(piece, 0, count);
        if (outcome == Z_STREAM_END) {
            if (packed.empty()) return text;
            if (!is_gzip(packed)) refuse(file, "expected the end of the gzip data, found more");
            INVARIANT(inflateReset(&stream) == Z_OK);
        } else if (outcome == Z_BUF_ERROR && packed.empty()) {
            refuse(file, "is cut short in the middle of its gzip data");
        } else if (outcome != Z_OK) {
            refuse(file, fmt::format("expected gzip data, found damage ({})",
                                     stream.msg == nullptr ? "no more is known" : stream.msg));
        }
    }
}

[[noreturn]] void fail_to_write(const std::filesystem::path& file, int error) {
    throw std::system_error(error, std::generic_category(),
                            fmt::format("cannot write {}", file.string()));
}

// A file under a temporary name: removed unless it was renamed.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
        static std::atomic<unsigned> counter = 0;
        // Not mkstemp: it would make the result readable to its owner alone.
        do {
            name_ = target;
            name_ += fmt::format(".tmp-{}-{}", ::getpid(), counter++);
            descriptor_ = ::open(name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        } while (descriptor_ < 0 && errno == EEXIST);
        if (descriptor_ < 0) fail_to_write(target_, errno);
    }
    ~TemporaryFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (!renamed_) ::unlink(name_.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t count = ::write(descriptor_, text.data(), text.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) fail_to_write(target_, errno);
            text.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    void become_target() {
        if (::fsync(descriptor_) != 0) fail_to_write(target_, errno);
        if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write(target_, errno);
        if (std::rename(name_.c_str(), target_.c_str()) != 0) fail_to_write(target_, errno);
        renamed_ = true;
    }

private:
    std::filesystem::path target_;
    std::filesystem::path name_;
    int descriptor_ = -1;
    bool renamed_ = false;
};

}  // namespace

std::string read_file(const std::filesystem::path& file, std::size_t bytes_max) {
    std::string text = read_raw(file, bytes_max);
    FilesRead::note(text);
    InputFiles::note_content(file, text);
    return is_gzip(text) ? inflate_all(file, text, bytes_max) : text;
}

std::string read_text_file(const std::filesystem::path& file, std::size_t bytes_max) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    std::string text = read_file(file, bytes_max);
    if (text.starts_with(mark)) text.erase(0, mark.size());
    return text;
}

void write_file_atomically(const std::filesystem::path& file,
                           std::initializer_list<std::string_view> parts) {
    write_file_atomically(file, [&](const TextTaker& take) { std::ranges::for_each(parts, take); });
}

void write_file_atomically(const std::filesystem::path& file, const TextPieces& pieces) {
    check_output_file(file, true);  // to rename over a pipe or a device would remove it
    TemporaryFile temporary(file);
    pieces([&](std::string_view piece) { temporary.write(piece); });
    temporary.become_target();
    // The new name itself is on the disk only once its folder is. Not every file system can do
    // this, and the file is whole either way: a failure here is not one of ours.
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(::fsync(descriptor));
    ::close(descriptor);
}

}  // namespace ukemi
